import type { ArchiveSources } from '../../../infra/archive/log/partition-cursor.ts';
import { type RecordInTime, RecordsInTime } from '../../../infra/archive/log/records-in-time.ts';
import { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { compareText } from '../../../schemas/views/text.ts';
import { closing } from '../../cli/closing.ts';
import { FoldInTime } from '../log/fold-in-time.ts';
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

/** Finds the public answers that differ between two instants, in one fold. Returns how many records were read. */
export async function changedAnswers(sources: ArchiveSources, options: ChangesOptions): Promise<number> {
  const { fromMs, toMs, clocks, signal, textOf, onChanged, onProgress } = options;
  const records = await RecordsInTime.open(sources, signal);
  const fold = new Fold();
  const inTime = new FoldInTime(fold, records);
  const before = new AnswersThen(clocks.from);
  const touching = new TouchingRecords(fold.facts, textOf);
  const begin = async (): Promise<void> => {
    await before.askAll(fold.facts, signal);
    touching.listenTo(fold);
  };
  let hasBegun = false;
  let read = 0;
  const take = (record: RecordInTime): void => {
    if (inTime.take(record)) touching.take(record);
  };
  return closing([touching], async () => {
    await records.each(toMs, signal, (record) => {
      onProgress?.(++read);
      if (hasBegun || record.timeMs <= fromMs) return take(record);
      hasBegun = true;
      return begin().then(() => take(record));
    });
    if (!hasBegun) await begin();
    const after = new PastAnswers(fold.facts);
    for (const target of [...new Set([...before.targets(), ...targetsOf(fold.facts)])].sort(compareText)) {
      signal.throwIfAborted();
      const one = {
        target,
        before: await before.ask(target),
        after: await after.ask(publicRequest(target), clocks.to),
      };
      if (!sameAnswer(one.before, one.after)) await onChanged({ ...one, records: touching.of(after.used) });
    }
    return touching.named;
  });
}

const publicRequest = (target: string) => ({ target, rider: null });

/** The answers about days and rides that may have content. */
function* targetsOf(facts: Facts): Generator<string> {
  for (const kind of ['day', 'ride'] as const) {
    const { all, id } = valueViews[kind];
    for (const view of all(facts)) yield targets[kind](id(facts, view));
  }
}

/** The public answers of an instant, kept while the fold goes on. */
class AnswersThen {
  readonly #clockMs: number;
  readonly #kept = new Map<string, PastAnswer>();
  /** Answers all others, such as a day that had no nights: nothing but their metro shows in these. */
  #others = new PastAnswers(new Facts());

  constructor(clockMs: number) {
    this.#clockMs = clockMs;
  }

  async askAll(facts: Facts, signal: AbortSignal): Promise<void> {
    const answers = new PastAnswers(facts);
    for (const target of targetsOf(facts)) {
      signal.throwIfAborted();
      this.#kept.set(target, await answers.ask(publicRequest(target), this.#clockMs));
    }
    const metrosAlone = new Facts();
    for (const [metro, record] of facts.metros.entries()) {
      metrosAlone.metros[metrosAlone.metroIds.add(facts.metroIds.text(metro))] = record;
    }
    this.#others = new PastAnswers(metrosAlone);
  }

  targets(): Iterable<string> {
    return this.#kept.keys();
  }

  async ask(target: string): Promise<PastAnswer> {
    return this.#kept.get(target) ?? this.#others.ask(publicRequest(target), this.#clockMs);
  }
}
