import { daysAhead, daysBack } from '../../../api/calendar/me-answers.ts';
import { secondsUntil } from '../../../api/calendar/views/local-days.ts';
import type { ArchiveSources } from '../../../infra/archive/log/partition-cursor.ts';
import {
  type RecordInTime,
  RecordsInTime,
  type TimedRecord,
  timedRecord,
} from '../../../infra/archive/log/records-in-time.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { FoldInTime } from '../log/fold-in-time.ts';
import { type PastAnswer, PastAnswers, type PastRequest } from './past-answers.ts';
import { tellTouched, WatchedViews } from './touched-views.ts';

/** An answer from an instant on, and the records that caused it. */
export interface Version {
  request: PastRequest;
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

const dayMs = 86_400_000;
/**
 * How many days from a night a midnight may still change an answer: as many as a rider's nights are shown. The margin
 * is for local dates, at most a day from UTC's, and for clocks that go back, by a day at most.
 */
const nearDays = Math.max(daysBack, daysAhead) + 3;

/**
 * Every version of some answers, the oldest first, from one fold. At each instant it is the answer of `replay --as-of` with
 * that instant. There is no version before the first record.
 */
export async function answerHistories(
  sources: ArchiveSources,
  requests: readonly PastRequest[],
  { untilMs, signal, onVersion, onProgress }: HistoryOptions,
): Promise<void> {
  const records = await RecordsInTime.open(sources, signal);
  const histories = new AnswerHistories(records, requests, onVersion);
  await histories.begin();
  let read = 0;
  await records.each(untilMs, signal, (record) => {
    onProgress?.(++read);
    return histories.take(record);
  });
  await histories.end(untilMs);
}

/** One answer's present version. */
interface AnswerHistory {
  readonly number: number;
  readonly request: PastRequest;
  now: PastAnswer;
  /** The last version that was told. */
  told: PastAnswer;
  /** The names of the views that it is made of. */
  used: ReadonlySet<string>;
  /** The records of this instant that changed it. */
  behind: TimedRecord[];
  /** It is asked again then: no midnight before it changes the answer. */
  dueMs: number;
}

class AnswerHistories {
  readonly #fold = new Fold();
  readonly #foldInTime: FoldInTime;
  readonly #answers = new PastAnswers(this.#fold.facts);
  readonly #watched = new WatchedViews<AnswerHistory>(this.#fold.facts, (key) => this.#answers.reader.changed(key));
  readonly #midnights = new LocalMidnights(this.#fold.facts);
  readonly #onVersion: HistoryOptions['onVersion'];
  readonly #histories: readonly AnswerHistory[];
  readonly #hasRiders: boolean;
  /** Those that were asked again at this instant. */
  readonly #asked = new Set<AnswerHistory>();
  #atMs = Number.NEGATIVE_INFINITY;
  /** The first instant at which a history is due, or an earlier one. */
  #dueMs = Number.POSITIVE_INFINITY;
  /** How many nights are known so far, and their days in order: between two of them may lie thousands of years. */
  readonly #nights = { count: 0, days: [] as number[] };

  constructor(records: RecordsInTime, requests: readonly PastRequest[], onVersion: HistoryOptions['onVersion']) {
    this.#foldInTime = new FoldInTime(this.#fold, records);
    this.#onVersion = onVersion;
    const nothing: PastAnswer = { status: 0, etag: null, body: '', steadyUntilMs: null };
    this.#histories = requests.map((request, number) => ({
      number,
      request,
      now: nothing,
      told: nothing,
      used: new Set(),
      behind: [],
      dueMs: Number.POSITIVE_INFINITY,
    }));
    this.#hasRiders = requests.some(({ rider }) => rider !== null);
    tellTouched(this.#fold, this.#watched, !this.#hasRiders);
  }

  /** Asks what the answers are without a record. */
  async begin(): Promise<void> {
    for (const history of this.#histories) {
      await this.#ask(history, 0);
      history.told = history.now;
    }
    this.#asked.clear();
  }

  /** Takes the next record in time. Returns a promise if the next one must wait. */
  take(record: RecordInTime): Promise<void> | undefined {
    if (record.timeMs === this.#atMs) return this.#apply(record);
    if (this.#asked.size > 0 || this.#midnightAfter(this.#atMs) <= record.timeMs)
      return this.#moveTo(record.timeMs).then(() => this.#apply(record));
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
    const touched = this.#watched.take();
    return touched.size === 0 ? undefined : this.#askTouched(touched, record);
  }

  async #askTouched(touched: ReadonlySet<AnswerHistory>, record: RecordInTime): Promise<void> {
    let timed: TimedRecord | null = null;
    for (const history of touched) {
      const before = history.now;
      await this.#ask(history, this.#atMs);
      if (sameAnswer(before, history.now)) continue;
      timed ??= timedRecord(record);
      history.behind.push(timed);
    }
  }

  /** Tells the versions of this instant and of each midnight that changes an answer before another instant. */
  async #moveTo(atMs: number): Promise<void> {
    for (let next = this.#midnightAfter(this.#atMs); next <= atMs; next = this.#midnightAfter(next)) {
      await this.#tell();
      this.#atMs = next;
      for (const history of this.#histories) {
        if (history.request.rider !== null || history.dueMs <= next) await this.#ask(history, next);
      }
      this.#dueMs = Math.min(...this.#histories.map(({ dueMs }) => dueMs));
    }
    // A midnight at this very instant is told with the records, but its changes are not put down to them.
    if (this.#atMs < atMs) await this.#tell();
    this.#atMs = atMs;
  }

  async #tell(): Promise<void> {
    for (const history of [...this.#asked].sort((a, b) => a.number - b.number)) {
      const { request, told: before, now: answer, behind: records } = history;
      history.behind = [];
      if (sameAnswer(before, answer)) continue;
      history.told = answer;
      await this.#onVersion({ request, atMs: this.#atMs, before, answer, records });
    }
    this.#asked.clear();
  }

  async #ask(history: AnswerHistory, clockMs: number): Promise<void> {
    history.now = await this.#answers.ask(history.request, clockMs);
    const { used } = this.#answers;
    this.#watched.watch(history, used, history.used);
    history.used = used;
    const { steadyUntilMs } = history.now;
    history.dueMs = steadyUntilMs === null ? Number.POSITIVE_INFINITY : this.#near(steadyUntilMs);
    this.#dueMs = Math.min(this.#dueMs, history.dueMs);
    this.#asked.add(history);
  }

  /** The next instant at which an answer may change by a midnight. */
  #midnightAfter(ms: number): number {
    return this.#hasRiders ? Math.min(this.#dueMs, this.#midnights.after(this.#near(ms))) : this.#dueMs;
  }

  /** The same instant, or a later one if midnights do not matter before it. Infinity if none matters after it. */
  #near(ms: number): number {
    const { days } = this.#nights;
    for (const day of this.#fold.facts.nightDay.slice(this.#nights.count)) {
      this.#nights.count++;
      const at = countUpTo(days, day);
      if (days[at - 1] !== day) days.splice(at, 0, day);
    }
    const next = days[countUpTo(days, ms / dayMs - nearDays)];
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(ms, (next - nearDays) * dayMs);
  }
}

/** How many numbers of an ordered list are no larger than one. */
function countUpTo(list: readonly number[], limit: number): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle]! <= limit) from = middle + 1;
    else to = middle;
  }
  return from;
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
    if (ms === Number.POSITIVE_INFINITY) return ms;
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
