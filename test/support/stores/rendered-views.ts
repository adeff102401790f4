import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold, type FoldedRecord } from '../../../projector/facts/fold.ts';
import { dayOf, subjectOf } from '../../../projector/facts/numbers.ts';
import { openNames, type StoredView, type ViewWrite } from '../../../projector/ports/view-writer.ts';
import { renderReaderDays } from '../../../projector/views/reader.ts';
import { numberedKinds, numberedViews, readerViews, valueViews } from '../../../projector/views/value-views.ts';
import type { Marks } from '../../../projector/writing/marks.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { factKinds } from '../../../schemas/views/view-kinds.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { recordKey } from '../worlds/records.ts';

/** Folds a record that is good. */
export function applyTo(fold: Fold, { topic, key, value }: LoggedRecord): void {
  fold.apply({ topic, key: recordKey(topic, key), value } as FoldedRecord);
}

/** The fold of these records. */
export function foldOf(records: readonly LoggedRecord[]): Fold {
  const fold = new Fold();
  for (const record of records) applyTo(fold, record);
  return fold;
}

/** The writes of all views that the facts render. */
export function viewsOf(facts: Facts): ViewWrite[] {
  return numberedKinds
    .flatMap((kind) =>
      [...numberedViews[kind].all(facts)].flatMap((view): ViewWrite[] => {
        const id = numberedViews[kind].id(facts, view);
        if (kind !== 'reader') return [{ kind, id, value: valueViews[kind].render(facts, view)! }];
        const fields = readerViews.render(facts, view);
        return fields.length > 0 ? [{ kind, id, fields }] : [];
      }),
    )
    .filter((write) => write.kind === 'reader' || write.value !== null);
}

/** What a store holds once this is written into it. */
export function storedView(write: ViewWrite): StoredView {
  const tag = tagOf(write.id);
  if (write.kind !== 'reader') return { tag, kind: write.kind, id: write.id, bytes: write.value, whole: true };
  const fields = new Map(write.fields.map(({ field, value }) => [field, Buffer.from(value!)]));
  return { tag, kind: 'reader', id: write.id, fields };
}

/** Every view that the facts render, as text, by its name in an open list. */
export function rendered(facts: Facts): Map<string, string> {
  return new Map(
    viewsOf(facts).flatMap((write) => {
      const values = write.kind === 'reader' ? write.fields.map(({ value }) => value) : [write.value];
      return openNames([write]).map((name, i) => [name, `${values[i]}`] as const);
    }),
  );
}

/** The names of what is marked. */
export function markedNames(facts: Facts, { values, readerDays }: Pick<Marks, 'values' | 'readerDays'>): string[] {
  const names = factKinds.flatMap((kind) =>
    [...values[kind]].map((view) => `${kind}:${valueViews[kind].id(facts, view)}`),
  );
  for (const [mark, parts] of readerDays) {
    const reader = subjectOf(mark);
    const fields = renderReaderDays(facts, reader, new Map([[dayOf(mark), parts]]));
    names.push(...openNames([{ kind: 'reader', id: facts.riderIds.text(reader), fields }]));
  }
  return names;
}
