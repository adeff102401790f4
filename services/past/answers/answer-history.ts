import { daysAhead, daysBack } from '../../../api/calendar/me-answers.ts';
import { secondsUntil } from '../../../api/calendar/views/local-days.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { PastSources } from '../log/past-records.ts';
import { FoldInTime, RecordsInTime, type TimedRecord } from '../log/records-in-time.ts';
import { type PastAnswer, PastAnswers, type PastRequest } from './past-answers.ts';
import { TouchedViews, UsedViews } from './used-views.ts';

/** An answer from an instant on, and the records that caused it. */
export interface Version {
  atMs: number;
  answer: PastAnswer;
  /** Empty if it changed because a midnight passed. */
  records: TimedRecord[];
}

interface HistoryOptions {
  untilMs: number;
  signal: AbortSignal;
  onProgress?(records: number): void;
}

const dayMs = 86_400_000;
/**
 * How many days from a night a midnight may still change an answer: as many as a rider's nights are shown. The margin
 * is for local dates, at most a day from UTC's, and for clocks that go back, by a day at most.
 */
const nearDays = Math.max(daysBack, daysAhead) + 3;

/**
 * Every version of one answer, oldest first. At each instant it is the answer of `replay --as-of` with that instant.
 * There is no version before the first record.
 */
export async function* answerHistory(
  sources: PastSources,
  request: PastRequest,
  { untilMs, signal, onProgress }: HistoryOptions,
): AsyncGenerator<Version> {
  const records = await RecordsInTime.open(sources, signal);
  const history = await AnswerHistory.begin(records, request);
  let read = 0;
  for await (const group of records.groups(untilMs, signal)) {
    const atMs = group[0]!.timeMs;
    yield* history.midnights(atMs);
    yield* history.take(atMs, group);
    read += group.length;
    onProgress?.(read);
  }
  yield* history.midnights(untilMs + 1);
}

class AnswerHistory {
  readonly #fold = new Fold();
  readonly #foldInTime: FoldInTime;
  readonly #answers = new PastAnswers(this.#fold.facts);
  readonly #touched: TouchedViews;
  readonly #used = new UsedViews(this.#answers);
  readonly #midnights = new LocalMidnights(this.#fold.facts);
  readonly #request: PastRequest;
  #now!: PastAnswer;
  #told!: PastAnswer;
  #midnightMs = Number.POSITIVE_INFINITY;
  /** The first and last day of the nights known so far. */
  #nightDays = { nights: 0, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };

  private constructor(records: RecordsInTime, request: PastRequest) {
    this.#request = request;
    this.#foldInTime = new FoldInTime(this.#fold, records);
    this.#touched = new TouchedViews(this.#fold, request.rider === null);
  }

  static async begin(records: RecordsInTime, request: PastRequest): Promise<AnswerHistory> {
    const history = new AnswerHistory(records, request);
    history.#told = history.#now = await history.#ask(0);
    return history;
  }

  /** Applies the records of one time. Yields a version if the answer changed. */
  async *take(atMs: number, group: readonly TimedRecord[]): AsyncGenerator<Version> {
    // First a midnight at this very instant, so that its changes are not put down to the records.
    if (this.#midnightMs === atMs) this.#now = await this.#ask(atMs);
    const behind: TimedRecord[] = [];
    let zones = false;
    for (const timed of group) {
      if (!this.#foldInTime.take(timed)) continue;
      zones ||= timed.bytes.topic === 'metros';
      if (!this.#isTouched()) continue;
      const before = this.#now;
      this.#now = await this.#ask(atMs);
      if (!sameAnswer(before, this.#now)) behind.push(timed);
    }
    if (zones) this.#midnights.reread();
    this.#midnightMs = this.#midnightAfter(atMs);
    yield* this.#tell(atMs, behind);
  }

  /** Whether changes since the last call touch a view that the answer was made of. If not, it is not rendered again. */
  #isTouched(): boolean {
    const { reader } = this.#answers;
    let isTouched = false;
    for (const part of this.#touched.take(this.#request.rider)) {
      reader.partChanged(part);
      if (this.#used.has(part)) isTouched = true;
    }
    return isTouched;
  }

  /** Yields a version for each midnight before an instant that changes the answer. */
  async *midnights(beforeMs: number): AsyncGenerator<Version> {
    while (this.#midnightMs < beforeMs) {
      const atMs = this.#midnightMs;
      this.#now = await this.#ask(atMs);
      yield* this.#tell(atMs, []);
      this.#midnightMs = this.#midnightAfter(atMs);
    }
  }

  *#tell(atMs: number, records: TimedRecord[]): Generator<Version> {
    if (sameAnswer(this.#told, this.#now)) return;
    this.#told = this.#now;
    yield { atMs, answer: this.#now, records };
  }

  #ask(clockMs: number): Promise<PastAnswer> {
    this.#used.begin();
    return this.#answers.ask(this.#request, clockMs);
  }

  /**
   * The next midnight that may change an answer. Midnights long before the first night or after the last are left out.
   */
  #midnightAfter(ms: number): number {
    const days = this.#nightDays;
    for (const { nightDay } = this.#fold.facts; days.nights < nightDay.length; days.nights++) {
      days.first = Math.min(days.first, nightDay[days.nights]!);
      days.last = Math.max(days.last, nightDay[days.nights]!);
    }
    if (days.nights === 0) return Number.POSITIVE_INFINITY;
    const nextMs = this.#midnights.after(Math.max(ms, (days.first - nearDays) * dayMs));
    return nextMs < (days.last + nearDays) * dayMs ? nextMs : Number.POSITIVE_INFINITY;
  }
}

export const sameAnswer = (a: PastAnswer, b: PastAnswer): boolean => a.status === b.status && a.body === b.body;

const weekSeconds = 7 * 86_400;

/** The instants at which a metro's local date changes. An answer may change then without a record. */
class LocalMidnights {
  readonly #facts: Facts;
  #zones: readonly string[] = [];
  /** There is no such instant after `fromMs` and before `firstMs`. */
  #quiet = { fromMs: Number.POSITIVE_INFINITY, firstMs: Number.NEGATIVE_INFINITY };

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** The metros' zones may have changed. */
  reread(): void {
    this.#quiet = { fromMs: Number.POSITIVE_INFINITY, firstMs: Number.NEGATIVE_INFINITY };
    this.#zones = [...new Set(this.#facts.metros.flatMap((metro) => (metro ? [metro.time_zone] : [])))];
  }

  /** The first such instant after `ms`. Infinity if there is no metro. */
  after(ms: number): number {
    if (ms >= this.#quiet.fromMs && ms < this.#quiet.firstMs) return this.#quiet.firstMs;
    // Midnights are at whole seconds.
    const from = Math.floor(ms / 1000) * 1000;
    let first = Number.POSITIVE_INFINITY;
    for (const zone of this.#zones) {
      const seconds = secondsUntil(zone, from, weekSeconds, () => true);
      first = Math.min(first, from + seconds * 1000);
    }
    this.#quiet = { fromMs: from, firstMs: first };
    return first;
  }
}
