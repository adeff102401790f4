import { viewFormat } from '../../schemas/views/view-keys.ts';
import type { FactKind, RiderKind } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import type { FieldWrite, ViewWriter } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import { type RetryDeps, retryLogged, Turns } from '../running/waiting.ts';
import { numberedKinds, numberedViews, readerViews, valueViews } from '../views/value-views.ts';
import type { TakenTags } from './standby.ts';

/** The store has no room for the views: writing them would fill it, and stop everybody else who writes there. */
class NoRoomError extends Error {
  override name = 'NoRoomError';
  readonly retry = false;
}

/**
 * Throws NoRoomError if the store's memory would not hold the views of tags that no leader has written yet: those of a
 * format that is new beside another one, or of a first start (docs/rules.md#fill).
 */
export async function assertRoom(
  taken: TakenTags,
  facts: Facts,
  { leadership }: Pick<ViewWriter, 'leadership'>,
  deps: RetryDeps,
): Promise<void> {
  const empty = new Set([...taken].flatMap(([tag, { position }]) => (position === null ? [tag] : [])));
  if (!leadership || empty.size === 0) return;
  const room = await retryLogged('ask how much memory the store has', () => leadership.room(), deps);
  if (room === null) return;
  const needed = await fillBytes(facts, empty, deps.clock);
  if (needed <= room) return;
  throw new NoRoomError(
    `Cannot fill format ${viewFormat} of the views: they take about ${megabytes(needed)}, and the view store has room for ${megabytes(room)}. Give it more memory (maxmemory), or remove a format that is no longer used (generations drop)`,
  );
}

const megabytes = (bytes: number): string => `${Math.ceil(Math.max(0, bytes) / 1e6)} MB`;

// So many views of each kind are rendered, at least, where there are more.
const samplesMin = 1_000;
// Measured in Redis 7, beside names and values (test/infra/redis/views/fill-size.int.test.ts).
const keyBytes = 110;
// Of a hash whose fields are few and short, which Redis keeps in one piece, and of any other one.
const packed = { fieldsMax: 512, valueBytesMax: 64, fieldBytes: 6 };
const fieldBytes = 64;

/** About how many bytes a store takes for all views of some tags: a sample of each kind is rendered. */
export async function fillBytes(facts: Facts, tags: ReadonlySet<number>, clock: Clock): Promise<number> {
  const turns = new Turns(clock);
  let bytes = 0;
  for (const kind of numberedKinds) {
    const { all, id, tag } = numberedViews[kind];
    let count = 0;
    for (const _ of all(facts)) count += 1;
    const every = Math.max(1, Math.floor(count / samplesMin));
    let at = 0;
    for (const view of all(facts)) {
      if (at++ % every !== 0) continue;
      const value = tags.has(tag(facts, view)) ? valueBytes(facts, kind, view) : 0;
      if (value > 0) bytes += every * (keyBytes + id(facts, view).length + value);
      if (turns.due()) await turns.take();
    }
  }
  return bytes;
}

/** What a view takes in the store, without its key. 0: nothing is stored. */
const valueBytes = (facts: Facts, kind: FactKind | RiderKind, view: number): number =>
  kind === 'reader' ? hashBytes(readerViews.render(facts, view)) : (valueViews[kind].render(facts, view)?.length ?? 0);

function hashBytes(fields: readonly FieldWrite[]): number {
  const lengths = fields.map(({ value }) => Buffer.byteLength(value!));
  const isPacked = fields.length <= packed.fieldsMax && lengths.every((length) => length <= packed.valueBytesMax);
  const each = isPacked ? packed.fieldBytes : fieldBytes;
  return fields.reduce((sum, { field }, i) => sum + each + field.length + lengths[i]!, 0);
}
