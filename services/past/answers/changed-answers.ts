import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { compareText } from '../../../schemas/views/text.ts';
import type { PastSources } from '../log/past-records.ts';
import { FoldInTime, type RecordInTime, RecordsInTime } from '../log/records-in-time.ts';
import { sameAnswer } from './answer-history.ts';
import { type PastAnswer, PastAnswers, targets } from './past-answers.ts';
import { TouchingRecords } from './touching-records.ts';

/** An answer that differs between two instants. */
export interface ChangedAnswer {
  target: string;
  before: PastAnswer;
  after: PastAnswer;
  /** The texts of the records between the two that touched it, by time. None if it changed because a midnight passed. */
  records: readonly string[];
}

interface ChangesOptions {
  fromMs: number;
  toMs: number;
  /** The time on the calendar's clock at each of them. */
  clocks: { from: number; to: number };
  signal: AbortSignal;
  /** The text of a record that touched an answer. */
  textOf(record: RecordInTime): string;
  /** Called for each answer, in the order of their paths. The next one waits for it. */
  onChanged(one: ChangedAnswer): Promise<void>;
  onProgress?(records: number): void;
}

/** After this many records, the progress is reported. */
const turnRecords = 10_000;

/**
 * Finds the public answers, of days and rides, that differ between two instants, with facts of the one and of the other.
 * Returns the number of different records that touched them.
 */
export async function changedAnswers(sources: PastSources, options: ChangesOptions): Promise<number> {
  const { fromMs, toMs, clocks, signal, textOf, onChanged, onProgress } = options;
  const records = await RecordsInTime.open(sources, signal);
  const [foldBefore, foldAfter] = [new Fold(), new Fold()];
  const [before, after] = [new FoldInTime(foldBefore, records), new FoldInTime(foldAfter, records)];
  const touching = new TouchingRecords(foldAfter, textOf);
  let read = 0;
  await records.each(toMs, signal, (record) => {
    if (++read % turnRecords === 0) onProgress?.(read);
    if (record.timeMs <= fromMs) {
      before.take(record);
      after.take(record);
    } else {
      touching.listen();
      if (after.take(record)) touching.take(record);
    }
  });
  const [answersBefore, answersAfter] = [new PastAnswers(foldBefore.facts), new PastAnswers(foldAfter.facts)];
  const all = new Set([...targetsOf(foldBefore.facts), ...targetsOf(foldAfter.facts)]);
  for (const target of [...all].sort(compareText)) {
    signal.throwIfAborted();
    const before = await answersBefore.ask({ target, rider: null }, clocks.from);
    const after = await answersAfter.ask({ target, rider: null }, clocks.to);
    if (sameAnswer(before, after)) continue;
    await onChanged({ target, before, after, records: touching.of(answersAfter.used) });
  }
  return touching.named;
}

/** The answers about days and rides that may have content. */
function* targetsOf(facts: Facts): Generator<string> {
  for (const kind of ['day', 'ride'] as const) {
    const { all, id } = valueViews[kind];
    for (const view of all(facts)) yield targets[kind](id(facts, view));
  }
}
