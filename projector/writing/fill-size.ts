import { factKinds } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import type { Clock } from '../ports/clock.ts';
import type { FieldWrite } from '../ports/view-writer.ts';
import { renderReader } from '../views/reader.ts';
import { valueViews } from '../views/value-views.ts';
import { Turns } from './turns.ts';

// So many views of each kind are rendered, at least, where there are more.
const samplesMin = 1_000;
// Measured in Redis 7, beside names and values (test/infra/redis/fill-size.int.test.ts).
const keyBytes = 110;
// Of a hash whose fields are few and short, which Redis keeps in one piece, and of any other one.
const packed = { fieldsMax: 512, valueBytesMax: 64, fieldBytes: 6 };
const fieldBytes = 64;

interface Sampled {
  all: Iterable<number>;
  id(view: number): string;
  tag(view: number): number;
  /** What it takes in the store, without its key. 0: nothing is stored. */
  bytesOf(view: number): number;
}

/** About how many bytes a store takes for all views of some tags: a sample of each kind is rendered. */
export async function fillBytes(facts: Facts, tags: ReadonlySet<number>, clock: Clock): Promise<number> {
  const turns = new Turns(clock);
  let bytes = 0;
  for (const { all, id, tag, bytesOf } of kinds(facts)) {
    let count = 0;
    for (const _ of all) count += 1;
    const every = Math.max(1, Math.floor(count / samplesMin));
    let at = 0;
    for (const view of all) {
      if (at++ % every !== 0) continue;
      const value = tags.has(tag(view)) ? bytesOf(view) : 0;
      if (value > 0) bytes += every * (keyBytes + id(view).length + value);
      if (turns.due()) await turns.take();
    }
  }
  return bytes;
}

function* kinds(facts: Facts): Generator<Sampled> {
  for (const kind of factKinds) {
    const views = valueViews[kind];
    yield {
      all: again(() => views.all(facts)),
      id: (view) => views.id(facts, view),
      tag: (view) => views.tag(facts, view),
      bytesOf: (view) => views.render(facts, view)?.length ?? 0,
    };
  }
  yield {
    all: again(() => facts.riders.keys()),
    id: (rider) => facts.riderIds.text(rider),
    tag: (rider) => facts.riderIds.tag(rider),
    bytesOf: (rider) => hashBytes(renderReader(facts, rider)),
  };
}

function hashBytes(fields: readonly FieldWrite[]): number {
  const lengths = fields.map(({ value }) => Buffer.byteLength(value!));
  const isPacked = fields.length <= packed.fieldsMax && lengths.every((length) => length <= packed.valueBytesMax);
  const each = isPacked ? packed.fieldBytes : fieldBytes;
  return fields.reduce((sum, { field }, i) => sum + each + field.length + lengths[i]!, 0);
}

/** Can be iterated more than once. */
const again = (begin: () => Iterable<number>): Iterable<number> => ({
  [Symbol.iterator]: () => begin()[Symbol.iterator](),
});
