import type { ChangeListener, ViewReader } from '../../../api/ports/view-reader.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { partOfField, type ReaderParts, renderReaderDays } from '../../../projector/views/reader.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { isCompleteKey } from '../../../schemas/views/view-keys.ts';
import { type FactKind, factKinds, parseKey } from '../../../schemas/views/view-kinds.ts';

const kinds = new Set<string>(factKinds);
const there = Buffer.from('1');

/** Which parts of which days some fields show: by day, the bits of its parts. */
function daysOf(fields: readonly string[]): Map<number, ReaderParts> {
  const days = new Map<number, ReaderParts>();
  for (const field of fields) {
    const at = partOfField(field);
    if (at) days.set(at.day, (days.get(at.day) ?? 0) | at.part);
  }
  return days;
}

/**
 * Reads views from facts in this process. Each is rendered when it is asked for, and none is stored. `onFields`: told of each
 * read of a rider's view: its key, and the names of the fields that are read.
 */
export function factsViewReader(facts: Facts, onFields?: (key: string, fields: readonly string[]) => void) {
  let listener: ChangeListener | null = null;
  const viewOf = (key: string): Buffer | null => {
    if (isCompleteKey(key)) return there;
    const { kind, id } = parseKey(key);
    if (!kinds.has(kind)) return null;
    const views = valueViews[kind as FactKind];
    const view = views.find(facts, id);
    return view < 0 ? null : views.render(facts, view);
  };
  return {
    get: async (keys) => keys.map(viewOf),
    async fields(key, fields) {
      onFields?.(key, fields);
      const reader = facts.riderIds.find(parseKey(key).id);
      const rendered = reader < 0 ? [] : renderReaderDays(facts, reader, daysOf(fields));
      const found = new Map([...rendered].map(({ field, value }) => [field, value]));
      return fields.map((field) => {
        const value = found.get(field) ?? null;
        return value === null ? null : Buffer.from(value);
      });
    },
    listen(own) {
      listener = own;
      own.hearing(true);
    },
    changed: (key: string) => listener?.changed(key),
    ready: async () => ({ ready: true }),
    close: async () => {},
  } satisfies ViewReader & { changed(key: string): void };
}
