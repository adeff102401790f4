import { allTags } from '../schemas/views/view-keys.ts';
import { countText } from './count-text.ts';
import type { Facts } from './facts/facts.ts';
import { Fold } from './facts/fold.ts';
import { PartitionWatch } from './facts/partition-watch.ts';
import { FoldProgress } from './fold-progress.ts';
import { Intake } from './intake.ts';
import { type Clock, realClock } from './ports/clock.ts';
import type { EventLog, LogBatch, LogBounds, Position, RejectSink } from './ports/event-log.ts';
import type { Log } from './ports/log.ts';
import { noMetrics, type ProjectorMetrics } from './ports/metrics.ts';
import type { ViewWriter } from './ports/view-writer.ts';
import { untilAborted, WakeUp } from './ports/waiting.ts';
import { assertSamePartitions, copyPosition, partitionsBehind, positionOf } from './position.ts';
import { retryLogged } from './retry-logged.ts';
import { type ProjectorStatus, Watching } from './watching/watching.ts';
import { FanOuts } from './writing/fan-outs.ts';
import { Marking } from './writing/marking.ts';
import { Marks } from './writing/marks.ts';
import { PositionBarriers } from './writing/position-barriers.ts';
import { Repairs } from './writing/repairs.ts';
import { Rounds } from './writing/rounds.ts';
import { TagLanes } from './writing/tag-lanes.ts';

const beatMs = 1_000;
// A day of a hundred nights is 40 kB. Rewriting it for every RSVP of a busy evening would be most of the traffic.
const heavyRoundBytes = 100_000;
const heavyRoundPauseMs = 20;

export interface ProjectorDeps {
  eventLog: EventLog;
  writer: ViewWriter;
  /** Null if another shard sets bad records aside. */
  rejects: RejectSink | null;
  log: Log;
  metrics?: ProjectorMetrics;
  clock?: Clock;
  /** The tags that this projector owns. All by default. */
  tags?: readonly number[];
}

/** What a projector is made of while it runs. */
interface Parts {
  intake: Intake;
  rounds: Rounds;
  lanes: TagLanes;
  repairs: Repairs;
  marking: Marking;
  fanOuts: FanOuts;
}

/**
 * Folds the log and keeps the views up to date. At the start it raises the fences, samples the log's ends, folds up to
 * them, and compares and repairs every view. Then it follows the log. Run it once. Abort the signal to stop it: it
 * finishes the present round. Rejects with FencedError if a newer projector has taken over, and with faults of the log.
 */
export class Projector {
  readonly #deps: ProjectorDeps;
  readonly #clock: Clock;
  readonly #metrics: ProjectorMetrics;
  readonly #tags: readonly number[];
  readonly #watching: Watching;
  readonly #fold = new Fold();
  readonly #marks = new Marks();
  /** Wakes the rounds. */
  readonly #wakeUp = new WakeUp();
  /** Wakes the repairs. */
  readonly #repairWakeUp = new WakeUp();
  readonly #waiting = new Set<string>();
  #position!: Position;
  #partitionWatch!: PartitionWatch;
  #ready = false;
  #roundBytes = 0;

  constructor(deps: ProjectorDeps) {
    this.#clock = deps.clock ?? realClock;
    this.#metrics = deps.metrics ?? noMetrics;
    this.#watching = new Watching({ ...deps, clock: this.#clock, metrics: this.#metrics });
    this.#deps = { ...deps, writer: this.#watching.writer };
    this.#tags = deps.tags ?? allTags;
  }

  /** Whether the views have reached the ends sampled at the start (docs/rules.md#ready-projector). */
  get ready(): boolean {
    return this.#ready;
  }

  /** What has been folded so far. */
  get position(): Position {
    return copyPosition(this.#position);
  }

  /** What it does just now, and what it waits for. */
  status(): ProjectorStatus {
    return this.#watching.status(this.#position ?? null);
  }

  get facts(): Facts {
    return this.#fold.facts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const bothStop = AbortSignal.any([signal, stop.signal]);
    bothStop.addEventListener('abort', () => {
      this.#wakeUp.notify();
      this.#repairWakeUp.notify();
    });
    const watched = this.#watching.watch(bothStop);
    try {
      await this.#follow(signal, stop, bothStop);
    } finally {
      stop.abort();
      this.#ready = false;
      this.#watching.ended();
      await watched;
    }
  }

  async #follow(signal: AbortSignal, stop: AbortController, bothStop: AbortSignal): Promise<void> {
    const start = await this.#begin(bothStop).catch((cause) => {
      if (!signal.aborted) throw cause;
    });
    if (!start || signal.aborted) return;
    this.#watching.role = 'leader';
    this.#position = positionOf(start.bounds, 'low');
    this.#partitionWatch = new PartitionWatch(start.bounds, { log: this.#deps.log, metrics: this.#metrics });
    const parts = this.#parts(start.log, bothStop);
    const { intake, lanes, repairs, marking } = parts;

    const following = this.#deps.eventLog.follow(
      this.#position,
      {
        onBatch: (batch) => this.#take(parts, batch),
        onWaiting: (topic, partition, waiting) => this.#setWaiting(`${topic}/${partition}`, waiting),
      },
      bothStop,
    );
    const folded = this.#foldTo(positionOf(start.bounds, 'end'), marking, bothStop);
    const tasks = [
      following,
      folded.then(() => this.#writeRounds(parts, bothStop)),
      folded.then(() => this.#keepRepaired(repairs, bothStop)),
      this.#beat(lanes, repairs, bothStop),
    ];
    try {
      // The first to end ends the others: a fault of the log, or being fenced.
      await Promise.race(tasks);
    } finally {
      stop.abort();
      await Promise.allSettled(tasks);
      await intake.drain();
    }
  }

  /** Raises the fences and samples the log. If it is told to stop first, returns null or throws the signal's reason. */
  async #begin(signal: AbortSignal): Promise<{ bounds: LogBounds; log: string | null } | null> {
    const { eventLog, writer, log: says } = this.#deps;
    const deps = { clock: this.#clock, log: says, signal };
    // Fences come first: after that, an older leader cannot overwrite bytes that are newer than these ends.
    await retryLogged('take over the views', () => writer.lead(this.#tags), deps);
    if (signal.aborted) return null;
    // Waits for a log that is away, but stops waiting when the projector is told to stop.
    const bounds = await untilAborted(this.#watching.askingLog(eventLog.bounds()), signal);
    const identity = this.#watching.askingLog(Promise.resolve(eventLog.identity?.() ?? null));
    const log = await untilAborted(identity, signal);
    if (log !== null) {
      const stored = await retryLogged('read the stored position', () => writer.position(), deps);
      assertSamePartitions(stored, log, bounds);
    }
    return { bounds, log };
  }

  #parts(log: string | null, signal: AbortSignal): Parts {
    const { writer, rejects } = this.#deps;
    const shared = { clock: this.#clock, log: this.#deps.log, metrics: this.#metrics, signal };
    const { facts } = this.#fold;
    const owned = new Set(this.#tags);
    const barriers = new PositionBarriers(this.#position);
    const fanOuts = new FanOuts(facts, owned, barriers);
    const marking = new Marking(facts, this.#marks, fanOuts);
    const watching = this.#watching;
    const intake = new Intake({ ...shared, fold: this.#fold, sink: rejects, barriers, watching });
    const lanes: TagLanes = new TagLanes({
      ...shared,
      writer,
      onLost: (tag) => repairs.lose(tag),
      onWritten: (views, bytes) => this.#wrote(views, bytes),
    });
    const rounds = new Rounds({ facts, marks: this.#marks, marking, fanOuts, lanes, owned, barriers, log });
    const repairs = new Repairs({ ...shared, facts, writer, lanes, barriers, tags: this.#tags, watching });
    return { intake, rounds, lanes, repairs, marking, fanOuts };
  }

  async #take({ intake, fanOuts, marking }: Parts, batch: LogBatch): Promise<void> {
    this.#watching.taking(batch);
    const before = fanOuts.added;
    this.#partitionWatch.take(batch);
    const taken = intake.take(batch);
    // In the same turn as the facts and their sum.
    this.#position[batch.topic][batch.partition] = batch.nextOffset;
    const isChange = this.#fold.touched === marking;
    this.#watching.took(batch, isChange ? (fanOuts.added > before ? fanOuts.added : 0) : null);
    await taken;
    this.#wakeUp.notify();
  }

  #setWaiting(partition: string, waiting: boolean): void {
    if (waiting) this.#waiting.add(partition);
    else this.#waiting.delete(partition);
    this.#wakeUp.notify();
  }

  #wrote(views: number, bytes: number): void {
    this.#roundBytes += bytes;
    this.#metrics.written(views, bytes);
  }

  /** Resolves once the log is folded up to these ends. From then on changes are marked. */
  async #foldTo(ends: Position, marking: Marking, signal: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    const progress = new FoldProgress(copyPosition(this.#position), ends, { clock: this.#clock, log });
    while (!signal.aborted && this.#behind(ends)) {
      progress.at(this.#position);
      this.#watching.turn();
      await this.#wakeUp.waitAtMost(beatMs, this.#clock);
    }
    if (signal.aborted) return;
    log.info(`Folded up to the log's ends: ${describeFolded(this.#fold)}`);
    this.#partitionWatch.warn();
    this.#fold.touched = marking;
  }

  async #writeRounds(parts: Parts, signal: AbortSignal): Promise<void> {
    const { rounds } = parts;
    while (!signal.aborted) {
      this.#watching.turn();
      if (rounds.idle) await this.#wakeUp.waitAtMost(beatMs, this.#clock);
      // Also without marks: the position advances over records that touch no view.
      if (!signal.aborted) await this.#round(parts, signal);
    }
  }

  /** Compares every view at the start, and later the tags that the store loses. Changes are written meanwhile. */
  async #keepRepaired(repairs: Repairs, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await repairs.all();
    if (signal.aborted) return;
    this.#ready = true;
    this.#watching.caughtUp();
    this.#deps.log.info('Ready: the views stand at the ends sampled at the start');
    while (!signal.aborted) {
      if (repairs.needed) await repairs.lost();
      else await this.#repairWakeUp.waitAtMost(beatMs, this.#clock);
    }
  }

  /** Whether a partition is not folded up to its end. Ignores partitions that wait for something outside the log. */
  #behind(ends: Position): boolean {
    return partitionsBehind(this.#position, ends).some((partition) => !this.#waiting.has(partition));
  }

  /** Writes a batch to each tag every second, also during a long round. API processes take it as a heartbeat. */
  async #beat(lanes: TagLanes, repairs: Repairs, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await lanes.beat(this.#tags, beatMs / 2);
      if (repairs.needed) this.#repairWakeUp.notify();
      await this.#clock.sleep(beatMs, signal);
    }
  }

  async #round({ rounds, fanOuts }: Parts, signal: AbortSignal): Promise<void> {
    this.#roundBytes = 0;
    const { changes } = this.#watching;
    const taken = changes.begin();
    await rounds.run(this.#position);
    // Not waited for: the next round is not to be delayed by measuring this one.
    void changes.written(taken, fanOuts.told, this.#clock.nowMs());
    if (this.#roundBytes > heavyRoundBytes) await this.#clock.sleep(heavyRoundPauseMs, signal);
  }
}

function describeFolded({ facts }: Fold): string {
  const counts = [
    [facts.metros.filter(Boolean).length, 'metro'],
    [facts.rides.length, 'ride'],
    [facts.nightRide.length, 'night'],
    [facts.riders.length, 'rider'],
  ] as const;
  return counts.map(([count, name]) => countText(count, name)).join(', ');
}
