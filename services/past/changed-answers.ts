import { Fold } from '../../projector/facts/fold.ts';
import { valueViews } from '../../projector/views/value-views.ts';
import type { Marks } from '../../projector/writing/marks.ts';
import { compareText } from '../../schemas/views/text.ts';
import { digestOf } from '../../schemas/views/view-keys.ts';
import { sameAnswer } from './answer-history.ts';
import { markChanges } from './answer-watch.ts';
import { type PastAnswer, PastAnswers, targets } from './past-answers.ts';
import { foldPast } from './past-fold.ts';
import type { PastSources } from './past-records.ts';
import { FoldInTime, RecordsInTime, type TimedRecord } from './records-in-time.ts';

/** An answer that differs between two instants. */
export interface ChangedAnswer {
  target: string;
  before: PastAnswer;
  after: PastAnswer;
  /** The records between the two that changed it; none: a midnight passed. */
  records: TimedRecord[];
}

interface ChangesOptions {
  fromMs: number;
  toMs: number;
  /** Where the calendar's clock stands at each of them. */
  clocks: { from: number; to: number };
  signal: AbortSignal;
  onProgress?(records: number): void;
}

const kinds = ['day', 'ride'] as const;

/** The public answers, of days and rides, that differ between two instants, in the order of their paths. */
export async function changedAnswers(sources: PastSources, options: ChangesOptions): Promise<ChangedAnswer[]> {
  const records = await RecordsInTime.open(sources, options.signal);
  const window = new Window(records, options);
  await window.read(records);
  const after = await window.differing();
  // The window has kept digests alone of the answers at the start, so the facts of then are folded again.
  const { facts } = await foldPast(sources, { atMs: options.fromMs, signal: options.signal });
  const answers = new PastAnswers(facts);
  const changed: ChangedAnswer[] = [];
  for (const { target, answer, records } of after) {
    const before = await answers.ask({ target, rider: null }, options.clocks.from);
    if (!sameAnswer(before, answer)) changed.push({ target, before, after: answer, records });
  }
  return changed.sort((a, b) => compareText(a.target, b.target));
}

/** What the answers are at the start, and the records that change them up to the end. */
class Window {
  readonly #options: ChangesOptions;
  readonly #fold = new Fold();
  readonly #foldInTime: FoldInTime;
  readonly #answers = new PastAnswers(this.#fold.facts);
  /** Tells each answer at the start apart from others. */
  readonly #atStart = new Map<string, string>();
  /** The same at both clocks, as of the last record. */
  readonly #now = new Map<string, string>();
  readonly #behind = new Map<string, Set<TimedRecord>>();
  /** Whether metros are there, and the records by which they came or went since the start. */
  readonly #metros = new Map<string, { exists: boolean; records: TimedRecord[] }>();
  /** What the last record touched; null before the start. */
  #marks: Marks | null = null;

  constructor(records: RecordsInTime, options: ChangesOptions) {
    this.#options = options;
    this.#foldInTime = new FoldInTime(this.#fold, records);
  }

  async read(records: RecordsInTime): Promise<void> {
    const { fromMs, toMs, signal, onProgress } = this.#options;
    let read = 0;
    let begun = false;
    for await (const group of records.groups(toMs, signal)) {
      if (!begun && group[0]!.timeMs > fromMs) {
        await this.#begin();
        begun = true;
      }
      for (const timed of group) await this.#take(timed, begun);
      read += group.length;
      onProgress?.(read);
    }
    if (!begun) await this.#begin();
  }

  /** Answers at the end that are not as at the start. */
  async differing(): Promise<{ target: string; answer: PastAnswer; records: TimedRecord[] }[]> {
    this.#answers.reader.changed();
    const found = [];
    for (const target of new Set([...this.#atStart.keys(), ...this.#targets()])) {
      this.#options.signal.throwIfAborted();
      const answer = await this.#ask(target, this.#options.clocks.to);
      if (markOf(answer) === this.#atStart.get(target)) continue;
      found.push({ target, answer, records: [...this.#behindOf(target)] });
    }
    return found;
  }

  async #begin(): Promise<void> {
    this.#answers.reader.changed();
    for (const target of this.#targets()) {
      this.#options.signal.throwIfAborted();
      this.#atStart.set(target, markOf(await this.#ask(target, this.#options.clocks.from)));
      this.#now.set(target, (await this.#atBothClocks(target)).mark);
    }
    const { metros, metroIds } = this.#fold.facts;
    for (const [i, metro] of metros.entries())
      this.#metros.set(metroIds.text(i), { exists: metro != null, records: [] });
    this.#marks = markChanges(this.#fold, true);
  }

  async #take(timed: TimedRecord, begun: boolean): Promise<void> {
    if (!this.#foldInTime.take(timed) || !begun) return;
    const { facts } = this.#fold;
    const { values } = this.#marks!.take();
    const touched = new Set(
      kinds.flatMap((kind) => [...values[kind]].map((view) => targets[kind](valueViews[kind].id(facts, view)))),
    );
    if (timed.bytes.topic === 'metros') for (const target of this.#daysOfMetro(timed)) touched.add(target);
    if (touched.size > 0) this.#answers.reader.changed();
    for (const target of touched) await this.#compare(target, timed);
  }

  /** Days that are known of a metro that came or went: those without nights are empty or a 404 by it alone. */
  *#daysOfMetro(timed: TimedRecord): Generator<string> {
    const key = timed.key!;
    const exists = timed.value !== null;
    if (this.#metros.get(key)?.exists === exists) return;
    const records = [...(this.#metros.get(key)?.records ?? []), timed];
    this.#metros.set(key, { exists, records });
    for (const target of this.#now.keys()) if (metroOf(target) === key) yield target;
  }

  async #compare(target: string, timed: TimedRecord): Promise<void> {
    const before = this.#now.get(target);
    const { mark, hasNights } = await this.#atBothClocks(target);
    this.#now.set(target, mark);
    const behind = this.#behindOf(target);
    // What no record has named before had nothing published.
    if (before === undefined ? hasNights : before !== mark) behind.add(timed);
    this.#behind.set(target, behind);
  }

  #behindOf(target: string): Set<TimedRecord> {
    return (
      this.#behind.get(target) ?? new Set(this.#atStart.has(target) ? [] : this.#metros.get(metroOf(target))?.records)
    );
  }

  async #atBothClocks(target: string): Promise<{ mark: string; hasNights: boolean }> {
    const { from, to } = this.#options.clocks;
    const [a, b] = [await this.#ask(target, from), await this.#ask(target, to)];
    return { mark: markOf(a) + markOf(b), hasNights: a.status === 200 && !a.body.endsWith('"nights":[]}') };
  }

  *#targets(): Generator<string> {
    const { facts } = this.#fold;
    for (const kind of kinds) {
      for (const view of valueViews[kind].all(facts)) yield targets[kind](valueViews[kind].id(facts, view));
    }
  }

  #ask(target: string, clockMs: number): Promise<PastAnswer> {
    return this.#answers.ask({ target, rider: null }, clockMs);
  }
}

/** The metro of a day's target. Empty for a ride's. */
const metroOf = (target: string): string => /^\/metros\/([^/]+)\//.exec(target)?.[1] ?? '';
const markOf = ({ status, body }: PastAnswer): string => `${status}${digestOf(body)}`;
