import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { compareText } from '../../../schemas/views/text.ts';
import { foldPast } from '../log/past-fold.ts';
import type { PastSources } from '../log/past-records.ts';
import { FoldInTime, RecordsInTime, TimedRecord } from '../log/records-in-time.ts';
import { sameAnswer } from './answer-history.ts';
import { type PastAnswer, PastAnswers, targets } from './past-answers.ts';
import { tellTouched, WatchedViews } from './touched-views.ts';

/** An answer that differs between two instants. */
export interface ChangedAnswer {
  target: string;
  before: PastAnswer;
  after: PastAnswer;
  /** The records between the two that touched it. Empty if it changed because a midnight passed. */
  records: TimedRecord[];
}

interface ChangesOptions {
  fromMs: number;
  toMs: number;
  /** The time on the calendar's clock at each of them. */
  clocks: { from: number; to: number };
  signal: AbortSignal;
  onProgress?(records: number): void;
}

/** The public answers, of days and rides, that differ between two instants, in the order of their paths. */
export async function changedAnswers(sources: PastSources, options: ChangesOptions): Promise<ChangedAnswer[]> {
  const { fromMs, toMs, clocks, signal, onProgress } = options;
  const how = { signal, ...(onProgress && { onProgress }) };
  const before = new AnswersAt((await foldPast(sources, { ...how, atMs: fromMs })).facts, clocks.from);
  const after = new AnswersAt((await foldPast(sources, { ...how, atMs: toMs })).facts, clocks.to);
  const changed: ChangedAnswer[] = [];
  const madeOf = new Map<ChangedAnswer, ReadonlySet<string>>();
  for (const target of new Set([...before.targets(), ...after.targets()])) {
    signal.throwIfAborted();
    const one = { target, before: await before.ask(target), after: await after.ask(target), records: [] };
    if (sameAnswer(one.before, one.after)) continue;
    changed.push(one);
    madeOf.set(one, before.used.union(after.used));
  }
  if (changed.length > 0) await nameRecords(sources, options, madeOf);
  return changed.sort((a, b) => compareText(a.target, b.target));
}

/** The public answers at one instant. */
class AnswersAt {
  readonly #facts: Facts;
  readonly #clockMs: number;
  readonly #answers: PastAnswers;

  constructor(facts: Facts, clockMs: number) {
    this.#facts = facts;
    this.#clockMs = clockMs;
    this.#answers = new PastAnswers(facts);
  }

  /** What the last answer was made of. */
  get used(): ReadonlySet<string> {
    return this.#answers.used;
  }

  *targets(): Generator<string> {
    for (const kind of ['day', 'ride'] as const) {
      const { all, id } = valueViews[kind];
      for (const view of all(this.#facts)) yield targets[kind](id(this.#facts, view));
    }
  }

  ask(target: string): Promise<PastAnswer> {
    return this.#answers.ask({ target, rider: null }, this.#clockMs);
  }
}

/** Adds to each answer the records between the instants that touched a view that it is made of. */
async function nameRecords(
  sources: PastSources,
  { fromMs, toMs, signal }: ChangesOptions,
  madeOf: ReadonlyMap<ChangedAnswer, ReadonlySet<string>>,
): Promise<void> {
  const records = await RecordsInTime.open(sources, signal);
  const fold = new Fold();
  const inTime = new FoldInTime(fold, records);
  const watched = new WatchedViews<ChangedAnswer>(fold.facts, () => {});
  for (const [one, used] of madeOf) watched.watch(one, used, new Set());
  let isTold = false;
  await records.each(toMs, signal, (record) => {
    if (!isTold && record.timeMs > fromMs) {
      isTold = true;
      tellTouched(fold, watched, true);
    }
    if (!inTime.take(record)) return;
    const touched = watched.take();
    if (touched.size === 0) return;
    const timed = new TimedRecord(record);
    for (const { records } of touched) records.push(timed);
  });
}
