import type { ArchiveSources } from '../../../infra/archive/log/partition-cursor.ts';
import { type RecordInTime, RecordsInTime } from '../../../infra/archive/log/records-in-time.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { compareText } from '../../../schemas/views/text.ts';
import { closing } from '../../cli/closing.ts';
import { FoldInTime } from '../log/fold-in-time.ts';
import { foldPast } from '../log/past-fold.ts';
import { sameAnswer } from './answer-history.ts';
import { type PastAnswer, PastAnswers, targets } from './past-answers.ts';
import { TouchingRecords } from './touching-records.ts';

/** An answer that differs between two instants. */
export interface ChangedAnswer {
  target: string;
  before: PastAnswer;
  after: PastAnswer;
  /** The texts of the records between the two that touched it, by time. None if it changed because a midnight passed. */
  records: Iterable<string>;
}

interface ChangesOptions {
  fromMs: number;
  toMs: number;
  /** The time on the calendar's clock at each of them. */
  clocks: { from: number; to: number };
  signal: AbortSignal;
  /** The text of a record that touched an answer. */
  textOf(record: RecordInTime): string;
  /** Called for each answer, in the order of their paths. Its records can be read until the promise resolves. */
  onChanged(one: ChangedAnswer): Promise<void>;
  onProgress?(records: number): void;
}

/** Finds the public answers that differ between two instants. Returns how many records were behind them. */
export async function changedAnswers(sources: ArchiveSources, options: ChangesOptions): Promise<number> {
  const { fromMs, toMs, clocks, signal, textOf, onChanged, onProgress } = options;
  const { facts: then } = await foldPast(sources, { atMs: fromMs, signal });
  const records = await RecordsInTime.open(sources, signal);
  const fold = new Fold();
  const inTime = new FoldInTime(fold, records);
  const touching = new TouchingRecords(fold.facts, textOf);
  let read = 0;
  return closing([touching], async () => {
    await records.each(toMs, signal, (record) => {
      onProgress?.(++read);
      if (record.timeMs > fromMs) touching.listenTo(fold);
      if (inTime.take(record)) touching.take(record);
    });
    const [before, after] = [new PastAnswers(then), new PastAnswers(fold.facts)];
    for (const target of [...new Set([...targetsOf(then), ...targetsOf(fold.facts)])].sort(compareText)) {
      signal.throwIfAborted();
      const asked = { target, rider: null };
      const one = { target, before: await before.ask(asked, clocks.from), after: await after.ask(asked, clocks.to) };
      if (!sameAnswer(one.before, one.after)) await onChanged({ ...one, records: touching.of(after.used) });
    }
    return touching.named;
  });
}

/** The answers about days and rides that may have content. */
function* targetsOf(facts: Facts): Generator<string> {
  for (const kind of ['day', 'ride'] as const) {
    const { all, id } = valueViews[kind];
    for (const view of all(facts)) yield targets[kind](id(facts, view));
  }
}
