import { secondsUntil } from '../../api/calendar/local-days.ts';
import { daysAhead, daysBack } from '../../api/calendar/me-answers.ts';
import type { Facts } from '../../projector/facts/facts.ts';
import { Fold } from '../../projector/facts/fold.ts';
import { parseDay } from '../../schemas/views/days.ts';
import { TouchedViews, UsedViews } from './answer-watch.ts';
import { type PastAnswer, PastAnswers, type PastRequest } from './past-answers.ts';
import type { PastSources } from './past-records.ts';
import { FoldInTime, RecordsInTime, type TimedRecord } from './records-in-time.ts';

/** An answer from an instant on, and what made it so. */
export interface Version {
  atMs: number;
  answer: PastAnswer;
  /** The records that made it so; none: a midnight passed. */
  records: TimedRecord[];
}

interface HistoryOptions {
  untilMs: number;
  signal: AbortSignal;
  onProgress?(records: number): void;
}

const dayMs = 86_400_000;
/** Local dates are at most a day from UTC's, and a clock that goes back takes no more than a day. */
const slackDays = 3;
/** How far from today a rider's nights are shown. */
const ownDays = Math.max(daysBack, daysAhead);

/**
 * Every version of one answer, oldest first: at each instant it is what `replay --as-of` says of it, with the clock
 * there. What was before the first record is no version.
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
  #ownDays: { nights: number; days: number[] } = { nights: 0, days: [] };
  #shownDays: { of: PastAnswer | null; days: number[] } = { of: null, days: [] };

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

  /** Applies records of one time; a version where the answer is another then. */
  async *take(atMs: number, group: readonly TimedRecord[]): AsyncGenerator<Version> {
    // What the time alone changes is no record's doing.
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
    this.#midnightMs = this.#midnights.after(atMs);
    yield* this.#tell(atMs, behind);
  }

  /** Whether the changes since the last call touch what the answer was made of. What they do not touch is not rendered again. */
  #isTouched(): boolean {
    const { reader } = this.#answers;
    let isTouched = false;
    for (const part of this.#touched.take(this.#request.rider)) {
      reader.partChanged(part);
      if (this.#used.has(part)) isTouched = true;
    }
    return isTouched;
  }

  /** A version for each midnight before an instant that changes the answer. */
  async *midnights(beforeMs: number): AsyncGenerator<Version> {
    for (;;) {
      this.#passQuietDays();
      if (this.#midnightMs >= beforeMs) return;
      const atMs = this.#midnightMs;
      this.#now = await this.#ask(atMs);
      yield* this.#tell(atMs, []);
      this.#midnightMs = this.#midnights.after(atMs);
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

  /** A midnight far from every night changes nothing: the next one is near a night, or there is none. */
  #passQuietDays(): void {
    if (this.#midnightMs === Number.POSITIVE_INFINITY) return;
    const near = this.#request.rider === null ? slackDays : ownDays + slackDays;
    const today = Math.floor(this.#midnightMs / dayMs);
    const next = this.#nightDays().find((day) => day + near >= today);
    if (next === undefined) this.#midnightMs = Number.POSITIVE_INFINITY;
    else if (next - near > today) this.#midnightMs = this.#midnights.after((next - near) * dayMs);
  }

  /** Days of the nights that the answer has, or may come to have, ascending. */
  #nightDays(): number[] {
    const { nightDay } = this.#fold.facts;
    if (this.#request.rider === null) {
      if (this.#shownDays.of !== this.#now) this.#shownDays = { of: this.#now, days: daysIn(this.#now) };
      return this.#shownDays.days;
    }
    if (this.#ownDays.nights !== nightDay.length) {
      this.#ownDays = { nights: nightDay.length, days: [...new Set(nightDay)].sort((a, b) => a - b) };
    }
    return this.#ownDays.days;
  }
}

function daysIn({ body }: PastAnswer): number[] {
  const texts = [...body.matchAll(/"day":"(\d{4}-\d{2}-\d{2})"/g)].map((match) => match[1]!);
  return texts.map((text) => parseDay(text)!).sort((a, b) => a - b);
}

export const sameAnswer = (a: PastAnswer, b: PastAnswer): boolean => a.status === b.status && a.body === b.body;

const weekSeconds = 7 * 86_400;

/** Instants at which the local date of a metro changes: an answer may change then with no record. */
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

  /** The first such instant after one; infinity where there is no metro. */
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
