import { daysAhead, daysBack } from '../../../api/calendar/me-answers.ts';
import { secondsUntil } from '../../../api/calendar/views/local-days.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { PastSources } from '../log/past-records.ts';
import { FoldInTime, type RecordInTime, RecordsInTime, TimedRecord } from '../log/records-in-time.ts';
import { type PastAnswer, PastAnswers, type PastRequest } from './past-answers.ts';
import { tellTouched, WatchedViews } from './touched-views.ts';

/** An answer from an instant on, and the records that caused it. */
export interface Version {
  atMs: number;
  /** The version before it. */
  before: PastAnswer;
  answer: PastAnswer;
  /** Empty if it changed because a midnight passed. */
  records: readonly TimedRecord[];
}

interface HistoryOptions {
  untilMs: number;
  signal: AbortSignal;
  /** The next record waits for it. */
  onVersion(version: Version): unknown;
  onProgress?(records: number): void;
}

/** After this many records, the progress is reported. */
const turnRecords = 10_000;

/**
 * Every version of an answer, the oldest first, from one fold. At each instant it is the answer of `replay --as-of` with
 * that instant. There is no version before the first record.
 */
export async function answerHistory(
  sources: PastSources,
  request: PastRequest,
  { untilMs, signal, onVersion, onProgress }: HistoryOptions,
): Promise<void> {
  const records = await RecordsInTime.open(sources, signal);
  const history = await AnswerHistory.begin(records, request, onVersion);
  let read = 0;
  await records.each(untilMs, signal, (record) => {
    if (++read % turnRecords === 0) onProgress?.(read);
    return history.take(record);
  });
  await history.end(untilMs);
}

class AnswerHistory {
  readonly #fold = new Fold();
  readonly #foldInTime: FoldInTime;
  readonly #answers = new PastAnswers(this.#fold.facts);
  readonly #watched = new WatchedViews(this.#fold.facts, (key) => this.#answers.reader.changed(key));
  readonly #midnights = new LocalMidnights(this.#fold.facts);
  readonly #request: PastRequest;
  readonly #onVersion: HistoryOptions['onVersion'];
  #now: PastAnswer = { status: 0, etag: null, body: '' };
  /** The last version that was told. */
  #told = this.#now;
  /** The records of this instant that changed it. */
  #behind: TimedRecord[] = [];
  #atMs = Number.NEGATIVE_INFINITY;

  private constructor(records: RecordsInTime, request: PastRequest, onVersion: HistoryOptions['onVersion']) {
    this.#foldInTime = new FoldInTime(this.#fold, records);
    this.#request = request;
    this.#onVersion = onVersion;
  }

  static async begin(
    records: RecordsInTime,
    request: PastRequest,
    onVersion: HistoryOptions['onVersion'],
  ): Promise<AnswerHistory> {
    const history = new AnswerHistory(records, request, onVersion);
    tellTouched(history.#fold, history.#watched, request.rider === null);
    await history.#ask(0);
    history.#told = history.#now;
    return history;
  }

  /** Takes the next record in time. Returns a promise if the next one must wait. */
  take(record: RecordInTime): Promise<void> | undefined {
    if (record.timeMs === this.#atMs) return this.#apply(record);
    if (this.#now !== this.#told || this.#midnights.after(this.#atMs) <= record.timeMs) {
      return this.#moveTo(record.timeMs).then(() => this.#apply(record));
    }
    this.#atMs = record.timeMs;
    return this.#apply(record);
  }

  /** Tells the last versions up to an instant. */
  async end(untilMs: number): Promise<void> {
    await this.#moveTo(untilMs);
    await this.#tell();
  }

  #apply(record: RecordInTime): Promise<void> | undefined {
    if (!this.#foldInTime.take(record)) return undefined;
    if (record.source.topic === 'metros') this.#midnights.reread();
    return this.#watched.take() ? this.#askAfter(record) : undefined;
  }

  async #askAfter(record: RecordInTime): Promise<void> {
    const before = this.#now;
    await this.#ask(this.#atMs);
    if (!sameAnswer(before, this.#now)) this.#behind.push(new TimedRecord(record));
  }

  /** Tells the versions of this instant and of each midnight that changes the answer before another instant. */
  async #moveTo(atMs: number): Promise<void> {
    for (let next = this.#midnights.after(this.#atMs); next <= atMs; next = this.#midnights.after(next)) {
      await this.#tell();
      this.#atMs = next;
      await this.#ask(next);
    }
    // A midnight at this very instant is told with the records, but its change is not put down to them.
    if (this.#atMs < atMs) await this.#tell();
    this.#atMs = atMs;
  }

  async #tell(): Promise<void> {
    const [before, answer, records] = [this.#told, this.#now, this.#behind];
    this.#told = answer;
    this.#behind = [];
    if (!sameAnswer(before, answer)) await this.#onVersion({ atMs: this.#atMs, before, answer, records });
  }

  async #ask(clockMs: number): Promise<void> {
    this.#now = await this.#answers.ask(this.#request, clockMs);
    this.#watched.watch(this.#answers.used);
  }
}

export const sameAnswer = (a: PastAnswer, b: PastAnswer): boolean => a.status === b.status && a.body === b.body;

const weekSeconds = 7 * 86_400;
const dayMs = 86_400_000;
/**
 * How many days from a night a midnight may still change an answer: as many as a rider's nights are shown. The margin
 * is for local dates, at most a day from UTC's, and for clocks that go back, by a day at most.
 */
const nearDays = Math.max(daysBack, daysAhead) + 3;

/** The instants at which a metro's local date changes. An answer may change then without a record. */
class LocalMidnights {
  readonly #facts: Facts;
  #zones: readonly string[] = [];
  /** There is no such instant after `fromMs` and before `firstMs`. */
  #quiet = { fromMs: Number.POSITIVE_INFINITY, firstMs: Number.NEGATIVE_INFINITY };
  /** The first and last day of the nights known so far. */
  readonly #nightDays = { nights: 0, first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** The metros' zones may have changed. */
  reread(): void {
    this.#quiet = { fromMs: Number.POSITIVE_INFINITY, firstMs: Number.NEGATIVE_INFINITY };
    this.#zones = [...new Set(this.#facts.metros.flatMap((metro) => (metro ? [metro.time_zone] : [])))];
  }

  /** The first such instant after `ms` that may change an answer. Infinity if there is none. */
  after(ms: number): number {
    const nearMs = this.#near(ms);
    if (nearMs === Number.POSITIVE_INFINITY) return nearMs;
    if (nearMs >= this.#quiet.fromMs && nearMs < this.#quiet.firstMs) return this.#quiet.firstMs;
    // Midnights are at whole seconds.
    const from = Math.floor(nearMs / 1000) * 1000;
    let first = Number.POSITIVE_INFINITY;
    for (const zone of this.#zones) {
      const seconds = secondsUntil(zone, from, weekSeconds, () => true);
      first = Math.min(first, from + seconds * 1000);
    }
    this.#quiet = { fromMs: from, firstMs: first };
    return first;
  }

  /** The same instant, or a later one if midnights do not matter before it. Infinity if none matters after it. */
  #near(ms: number): number {
    const days = this.#nightDays;
    for (const { nightDay } = this.#facts; days.nights < nightDay.length; days.nights++) {
      days.first = Math.min(days.first, nightDay[days.nights]!);
      days.last = Math.max(days.last, nightDay[days.nights]!);
    }
    const nearMs = Math.max(ms, (days.first - nearDays) * dayMs);
    return nearMs < (days.last + nearDays) * dayMs ? nearMs : Number.POSITIVE_INFINITY;
  }
}
