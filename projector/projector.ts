import { defaultPartitioners, type Partitioners } from '../schemas/events/partitioner.ts';
import { allTags } from '../schemas/views/view-keys.ts';
import type { Facts } from './facts/facts.ts';
import { Fold } from './facts/fold.ts';
import { Folding } from './intake/folding.ts';
import { DeletionWatch } from './leading/deletion-watch.ts';
import { Leader } from './leading/leader.ts';
import { Life } from './leading/life.ts';
import { SignsOfLife } from './leading/signs-of-life.ts';
import type { TakenTags } from './leading/standby.ts';
import { Terms } from './leading/terms.ts';
import type { EventLog, Position, RejectSink } from './ports/event-log.ts';
import { noMetrics, type ProjectorMetrics } from './ports/metrics.ts';
import type { ViewWriter } from './ports/view-writer.ts';
import { copyPosition, positionOf } from './position/position.ts';
import { type Clock, realClock } from './running/clock.ts';
import type { Log } from './running/log.ts';
import { race, Stop } from './running/stop.ts';
import { retryLogged } from './running/waiting.ts';
import { measuredWriter } from './status/measured-writer.ts';
import { type ProjectorStatus, type Role, Status } from './status/status.ts';
import { PendingWrites } from './writing/pending-writes.ts';

export interface ProjectorDeps {
  eventLog: EventLog;
  writer: ViewWriter;
  /** Null: bad records are counted, and set aside nowhere. */
  rejects: RejectSink | null;
  log: Log;
  metrics?: ProjectorMetrics;
  clock?: Clock;
  /** The tags that views are in. All by default; a simulated world has fewer. */
  tags?: readonly number[];
  /** How producers map keys to partitions. As Java's do, by default. */
  partitioners?: Partitioners;
  /** How often a leader compares a tag's views with the facts in the background. Not at all by default. */
  checkEveryMs?: number | null;
}

const defaults = {
  metrics: noMetrics,
  clock: realClock,
  tags: allTags,
  partitioners: defaultPartitioners,
  checkEveryMs: null,
};
type Defaulted = Required<ProjectorDeps>;
const nothingLeft = { position: null, open: [], compare: false };

/**
 * Folds the log and keeps the views up to date. Every beginning is one routine: it stands by,
 * folds up to the leader's position, takes over once nobody leads, writes what the leader before left undone, and
 * follows the log. Once another leads, it stands by again. Run it once. Abort the signal to stop it: it finishes the
 * present round, and leaves its tags free. Nothing else makes `run` resolve. It rejects with faults: of the log, or of a
 * store that is unfit for views.
 */
export class Projector {
  readonly #deps: Defaulted;
  readonly #status: Status;
  readonly #signs: SignsOfLife | null;
  readonly #fold = new Fold();
  /** Null until the log has said where it begins. */
  #folding: Folding | null = null;

  constructor(deps: ProjectorDeps) {
    const all: Defaulted = { ...defaults, ...deps };
    const status = new Status(all);
    // The store, for all that is in here: each call is measured, and waited for.
    const writer = measuredWriter(all.writer, { ...all, waits: status.waits });
    const { leadership } = writer;
    this.#status = status;
    this.#deps = { ...all, writer };
    this.#signs = leadership && new SignsOfLife({ ...all, leadership, status });
  }

  /** Whether the views have reached the ends sampled at the start; of a standby, whether it is folded. */
  get ready(): boolean {
    return this.#status.ready;
  }

  get role(): Role {
    return this.#status.role;
  }

  /** What has been folded so far. */
  get position(): Position {
    return copyPosition(this.#folding!.position);
  }

  /** What it does just now, and what it waits for. */
  status(): ProjectorStatus {
    return this.#status.now(this.#folding ? this.position : null, this.#folding?.misplaced.lines);
  }

  get facts(): Facts {
    return this.#fold.facts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new Stop([signal]);
    // Before anything is asked of the log, which may take long: API processes see that a projector is coming.
    const coming = Promise.all([this.#signs?.run(stop.signal), this.#status.waits.run(stop.signal)]);
    try {
      await this.#run(stop.signal);
      if (!signal.aborted)
        throw new Error(
          'Cannot go on projecting: the projector stopped, and nobody told it to. This is a fault of the program: start it again, and report it',
        );
    } catch (cause) {
      if (!signal.aborted) throw cause;
    } finally {
      stop.end();
      this.#status.ended();
      await coming;
      await this.#folding?.intake.aside.drain();
    }
  }

  async #run(stop: AbortSignal): Promise<void> {
    const { eventLog, writer, tags } = this.#deps;
    const { leadership } = writer;
    const status = this.#status;
    // A store that is away, or refuses, is known before the log is asked for anything.
    const announced = { ...this.#deps, signal: stop };
    if (leadership) await retryLogged('find out who leads', () => leadership.coming(tags), announced);
    // Waits for a log that is away, but stops waiting when the projector is told to stop.
    const bounds = await race(stop, status.askingLog(eventLog.bounds()));
    const identity = await race(stop, status.askingLog(Promise.resolve(eventLog.identity?.() ?? null)));
    const ended = new Stop([stop]);
    const { signal } = ended;
    const shared = { ...this.#deps, status, waits: status.waits, signal };
    // Nothing is folded before it is known how far a leader has got.
    const folding = new Folding(bounds, leadership ? positionOf(bounds, 'low') : null, shared, this.#fold);
    this.#folding = folding;
    const life = new Life(leadership ? 'stand by' : 'take', (role) => status.stand(role));
    const pending = new PendingWrites(folding, status.changes);
    // A store in this process: nobody has led before, and nobody else will.
    if (!leadership) folding.intake.aside.begin();
    const lead = (taken: TakenTags) => new Leader(taken, { ...shared, folding, pending, identity, life }).lead();
    const leading: Promise<unknown> = leadership
      ? new Terms({ ...shared, leadership, folding, life, lead, bounds, identity, signs: this.#signs! }).run()
      : lead(new Map(tags.map((tag) => [tag, nothingLeft])));
    // The first to end ends the other: a fault of the log, or being told to stop.
    const watch = new DeletionWatch({ ...shared, leadership, folding, identity });
    const tasks = [folding.follow(signal), leading, watch.run()];
    try {
      await race(null, ...tasks);
    } finally {
      ended.end();
      await Promise.allSettled(tasks);
    }
  }
}
