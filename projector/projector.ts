import { allTags, completeKey } from '../schemas/view-keys.ts';
import { type Clock, realClock } from './clock.ts';
import type { EventLog, LogBatch, Position, RejectSink } from './event-log.ts';
import { Fold } from './fold.ts';
import { Holds } from './holds.ts';
import { Intake } from './intake.ts';
import type { Log } from './log.ts';
import { noMetrics, type ProjectorMetrics } from './metrics.ts';
import { assertSamePartitions, behind, copyPosition, positionOf } from './position.ts';
import { Reconcile } from './reconcile.ts';
import { Rounds } from './rounds.ts';
import { TagLanes } from './tag-lanes.ts';
import type { ViewWriter } from './view-writer.ts';

const beatMs = 1_000;
// A day of a hundred nights is 40 kB: rewriting it for every answer of a busy evening would be most of the traffic.
const heavyRoundBytes = 100_000;
const heavyRoundPauseMs = 20;

export interface ProjectorDeps {
  eventLog: EventLog;
  writer: ViewWriter;
  /** Null where another shard sets bad records aside. */
  rejects: RejectSink | null;
  log: Log;
  metrics?: ProjectorMetrics;
  clock?: Clock;
  /** Tags this projector owns; all by default. */
  tags?: readonly number[];
}

/**
 * Folds the log, and keeps the views at what it says. At start: raise the fences, sample the log's ends, fold up to
 * them, compare and mend every view; then follow. Run it once; abort the signal to stop it: it finishes the round in
 * hand. Rejects with FencedError where a newer projector has taken over, and with the log's own faults.
 */
export class Projector {
  readonly #deps: ProjectorDeps;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #metrics: ProjectorMetrics;
  readonly #tags: readonly number[];
  readonly #fold = new Fold();
  readonly #lost = new Set<number>();
  readonly #waiting = new Set<string>();
  #position!: Position;
  #ready = false;
  #roundBytes = 0;
  #oldestMarkMs: number | null = null;
  #wake: () => void = () => {};

  constructor(deps: ProjectorDeps) {
    this.#deps = deps;
    this.#log = deps.log;
    this.#clock = deps.clock ?? realClock;
    this.#metrics = deps.metrics ?? noMetrics;
    this.#tags = deps.tags ?? allTags;
  }

  /** Whether the views stand at the ends sampled at the start. */
  get ready(): boolean {
    return this.#ready;
  }

  /** What is folded so far. */
  get position(): Position {
    return copyPosition(this.#position);
  }

  /** The facts and marks, for measurements and replay. */
  get fold(): Fold {
    return this.#fold;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const bothStop = AbortSignal.any([signal, stop.signal]);
    bothStop.addEventListener('abort', () => this.#wake());
    // Fenced first: whatever an older leader still had in hand can't change a byte that is newer than these ends.
    const { writer } = this.#deps;
    await this.#insist('take over the views', () => writer.lead(this.#tags), bothStop);
    if (signal.aborted) return;
    const { eventLog } = this.#deps;
    // A log that is away is waited for: whoever stops the projector must not have to.
    const bounds = await orAborted(eventLog.bounds(), bothStop);
    if (bounds === null) return;
    const log = await orAborted(Promise.resolve(eventLog.identity?.() ?? null), bothStop);
    if (log !== null) {
      const stored = await this.#insist('read the stored position', () => writer.position(), bothStop);
      assertSamePartitions(stored, log, bounds);
    }
    if (signal.aborted) return;
    this.#position = positionOf(bounds, 'low');
    const holds = new Holds(this.#position);
    const intake = new Intake({
      fold: this.#fold,
      sink: this.#deps.rejects,
      holds,
      clock: this.#clock,
      log: this.#log,
      metrics: this.#metrics,
      signal: bothStop,
    });
    const lanes = new TagLanes({
      writer: this.#deps.writer,
      clock: this.#clock,
      log: this.#log,
      signal: bothStop,
      onLost: (tag) => this.#lost.add(tag),
      onWritten: (writes, bytes) => this.#wrote(writes, bytes),
    });
    const rounds = new Rounds(this.#fold, lanes, new Set(this.#tags), holds, { log });

    this.#fold.marking = false;
    const following = this.#deps.eventLog.follow(
      this.#position,
      {
        onBatch: (batch) => this.#take(intake, batch),
        onWaiting: (topic, partition, waiting) => this.#setWaiting(`${topic}/${partition}`, waiting),
      },
      bothStop,
    );
    const writing = this.#write({ rounds, lanes, holds }, positionOf(bounds, 'end'), bothStop);
    const beating = this.#beat(lanes, bothStop);
    try {
      // Either ends the others: the log's fault, or being fenced.
      await Promise.race([following, writing, beating]);
    } finally {
      stop.abort();
      this.#ready = false;
      await Promise.allSettled([following, writing, beating]);
      await intake.drain();
    }
  }

  async #take(intake: Intake, batch: LogBatch): Promise<void> {
    await intake.take(batch);
    this.#position[batch.topic][batch.partition] = batch.nextOffset;
    if (this.#fold.marks.size > 0) this.#oldestMarkMs ??= this.#clock.nowMs();
    this.#wake();
  }

  #setWaiting(partition: string, waiting: boolean): void {
    if (waiting) this.#waiting.add(partition);
    else this.#waiting.delete(partition);
    this.#wake();
  }

  #wrote(writes: number, bytes: number): void {
    this.#roundBytes += bytes;
    this.#metrics.written(writes, bytes);
  }

  async #write(parts: Parts, ends: Position, signal: AbortSignal): Promise<void> {
    await this.#foldUpTo(ends, signal);
    if (signal.aborted) return;
    this.#log.info(`Folded up to the log's ends: ${describeFolded(this.#fold)}`);
    this.#fold.marking = true;
    await this.#repair(parts, this.#tags, signal);
    while (this.#lost.size > 0 && !signal.aborted) await this.#repairLost(parts, signal);
    this.#ready = true;
    this.#log.info('Ready: the views stand at the ends sampled at the start');
    const { rounds } = parts;
    while (!signal.aborted) {
      if (this.#lost.size > 0) await this.#repairLost(parts, signal);
      if (rounds.idle) await this.#sleepUntilWoken(beatMs, signal);
      // A round without marks too: the position moves on over records that touch no view.
      if (!signal.aborted) await this.#round(rounds, signal);
    }
  }

  /** Each tag gets a batch every second, also while a long round is under way: readers take it as a sign of life. */
  async #beat(lanes: TagLanes, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await lanes.beat(this.#tags, beatMs / 2);
      if (this.#lost.size > 0) this.#wake();
      await this.#clock.sleep(beatMs, signal);
    }
  }

  /** Tries until the store answers; null when told to stop first. Throws what is not worth trying again. */
  async #insist<T>(what: string, attempt: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
    let said = '';
    for (let delayMs = 100; !signal.aborted; delayMs = Math.min(delayMs * 2, 5_000)) {
      try {
        const result = await attempt();
        if (said) this.#log.info(`It could ${what} now`);
        return result;
      } catch (cause) {
        const { message, retry } = cause as Error & { retry?: boolean };
        if (retry === false) throw cause;
        // Once for each reason: it may be hours.
        if (message !== said) this.#log.warn(`Cannot ${what}, trying again: ${message}`);
        said = message;
        await this.#clock.sleep(delayMs, signal);
      }
    }
    return null;
  }

  async #round(rounds: Rounds, signal: AbortSignal): Promise<void> {
    const oldest = this.#oldestMarkMs;
    this.#oldestMarkMs = null;
    this.#roundBytes = 0;
    await rounds.run(this.#position);
    if (oldest !== null) this.#metrics.freshness((this.#clock.nowMs() - oldest) / 1000);
    if (this.#roundBytes > heavyRoundBytes) await this.#clock.sleep(heavyRoundPauseMs, signal);
  }

  async #repairLost(parts: Parts, signal: AbortSignal): Promise<void> {
    const tags = [...this.#lost];
    this.#lost.clear();
    this.#log.warn(
      `The view store lost or changed ${tags.length} of ${this.#tags.length} tags: comparing and mending them`,
    );
    for (const tag of tags) await parts.lanes.refence(tag);
    await this.#repair(parts, tags, signal);
  }

  /** Compares and mends some tags, and says that they are complete. */
  async #repair({ rounds, lanes, holds }: Parts, tags: readonly number[], signal: AbortSignal): Promise<void> {
    // Rounds run meanwhile, over views that are not all compared yet: the position may not tell of them.
    const hold = holds.open();
    const reconcile = new Reconcile(this.#fold, () => rounds.run(this.#position));
    const differing = await this.#insist('compare views', () => reconcile.run(this.#deps.writer, tags), signal);
    if (differing === null) return;
    await rounds.run(this.#position);
    // A tag lost meanwhile is repaired again before anything is said of it.
    for (const tag of tags) {
      if (!this.#lost.has(tag)) await lanes.add({ key: completeKey(tag), value: Buffer.from('1') });
    }
    await lanes.drain();
    holds.close(hold);
    this.#metrics.reconciled(tags.length, differing);
    this.#log.info(
      `Compared ${tags.length} tags with the facts: ${differing} views were missing or differed, and are written`,
    );
  }

  async #foldUpTo(ends: Position, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && behind(this.#position, ends).some((partition) => !this.#waiting.has(partition))) {
      await this.#sleepUntilWoken(beatMs, signal);
    }
  }

  async #sleepUntilWoken(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = () => {};
  }
}

/** What one run is made of. */
interface Parts {
  rounds: Rounds;
  lanes: TagLanes;
  holds: Holds;
}

/** What the promise resolves to, or null as soon as the signal aborts. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  promise.catch(() => {});
  let abort = (): void => {};
  const aborted = new Promise<null>((resolve) => {
    abort = () => resolve(null);
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function describeFolded({ facts }: Fold): string {
  const counts = [
    [facts.metros.size, 'metros'],
    [facts.rides.length, 'rides'],
    [facts.nightRide.length, 'nights'],
    [facts.riders.length, 'riders'],
  ];
  return counts.map(([count, name]) => `${count} ${name}`).join(', ');
}
