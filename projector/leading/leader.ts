import { BackgroundCheck } from '../checking/background-check.ts';
import { Repairs } from '../checking/repairs.ts';
import type { Folding } from '../intake/folding.ts';
import type { EventLog, LogBounds } from '../ports/event-log.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { positionOf } from '../position/position.ts';
import { race, Stop } from '../running/stop.ts';
import type { RetryDeps } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import { PendingWrites } from '../writing/pending-writes.ts';
import { Rounds } from '../writing/rounds.ts';
import { TagLanes } from '../writing/tag-lanes.ts';
import { foldToBeginning } from './beginning.ts';
import { assertRoom } from './room-for-views.ts';
import type { TakenTags } from './standby.ts';
import { writeRounds } from './write-rounds.ts';

// How long a leader that is told to stop may take for the round in hand.
const finishMsMax = 2_500;

interface LeaderDeps extends RetryDeps {
  eventLog: EventLog;
  writer: ViewWriter;
  metrics: ProjectorMetrics;
  folding: Folding;
  tags: readonly number[];
  /** Which log it is; null where that is not known. */
  identity: string | null;
  status: Status;
  /** How often a tag's views are compared in the background; null: they are not. */
  checkEveryMs: number | null;
}

/** Why a term ended: another leads; the store is not as it was left; told to stop. */
type TermEnd = 'fenced' | 'lost' | 'stopped';

/** The terms in which this projector writes what changed facts leave to write. */
export class Leader {
  readonly #deps: LeaderDeps;
  readonly #pending: PendingWrites;

  constructor(deps: LeaderDeps) {
    this.#deps = deps;
    this.#pending = new PendingWrites(deps.folding, deps.status.changes);
  }

  /** A term (docs/rules.md#beginning): writes until the store refuses, or until told to stop; then the tags are free. `taken`: what was left there. */
  async lead(taken: TakenTags): Promise<TermEnd> {
    const { clock, signal } = this.#deps;
    const term = new Stop([signal], { finishMs: finishMsMax, clock });
    const { lanes, rounds, repairs } = this.#parts(term.ended);
    const stop = new Stop([term.signal, lanes.signal]);
    // The fences move from the first moment on, however long the log is.
    const tasks = [lanes.run(), this.#work(taken, lanes, rounds, repairs, stop.signal)];
    try {
      await race(null, ...tasks);
    } catch (cause) {
      // After a refusal everything else fails too. That is no fault.
      if (lanes.refusal === null) throw cause;
    } finally {
      term.end();
      await Promise.allSettled(tasks);
      await lanes.ended();
      this.#deps.status.termEnded(lanes.refusal === 'lost');
      // The next term begins with what the store says, as another projector's would. The facts stay.
      this.#pending.end();
    }
    // Told to stop by a refusal, the work may end before the lanes say why.
    return lanes.refusal ?? 'stopped';
  }

  /** The log's bounds as they are now; null when told to stop. */
  #bounds(stop: AbortSignal): Promise<LogBounds | null> {
    const { eventLog, status } = this.#deps;
    return race(stop, status.askingLog(eventLog.bounds())).catch((cause: unknown) => {
      if (!stop.aborted) throw cause;
      return null;
    });
  }

  #parts(ending: AbortSignal) {
    const { writer, clock, log, metrics, folding, tags, identity, status } = this.#deps;
    const shared = { clock, log, metrics, signal: ending };
    const lanes: TagLanes = new TagLanes({
      ...shared,
      writer,
      tags,
      onWritten: (views, bytes) => metrics.written(views, bytes),
      onCompare: (tag) => repairs.compare(tag, true),
      // The next round is not waited for: reads may be.
      onDoubt: () => folding.moved.notify(),
    });
    const { barriers, fold, begin } = folding;
    const { rejects } = status;
    const of = { facts: fold.facts, pending: this.#pending };
    const rounds = new Rounds({ ...of, lanes, barriers, identity, begin, rejects });
    const repairs = new Repairs({ ...shared, facts: fold.facts, writer, lanes, status });
    status.readable = () => (lanes.isComplete ? rounds.written : null);
    return { lanes, rounds, repairs };
  }

  async #work(taken: TakenTags, lanes: TagLanes, rounds: Rounds, repairs: Repairs, stop: AbortSignal): Promise<void> {
    const { folding, log, tags, writer } = this.#deps;
    // Sampled after taking the tags. So nothing older than what any leader before wrote is ever written.
    const bounds = await this.#bounds(stop);
    if (!bounds) return this.#finish(lanes);
    const ends = positionOf(bounds, 'end');
    this.#pending.begin();
    const begin = await foldToBeginning(taken, ends, { ...this.#deps, signal: stop });
    repairs.cause = begin.deleted;
    for (const tag of begin.compare) repairs.compare(tag, taken.get(tag)!.compare);
    // Where all is to be compared anyway, marks would only be rendered twice.
    if (begin.compare.size === tags.length) this.#pending.end();
    folding.limit = null;
    await folding.foldTo(ends, stop);
    this.#pending.begin();
    if (stop.aborted) return this.#finish(lanes);
    log.info('Folded up to the log’s ends');
    await assertRoom(taken, folding.fold.facts, writer, { ...this.#deps, signal: stop }).catch(async (cause) => {
      // Nothing was written.
      await this.#finish(lanes);
      throw cause;
    });
    for (const [tag, write] of this.#pending.takeOn(begin.names, begin.fanOuts)) await lanes.add(tag, write);
    const checking = this.#check(lanes, repairs, stop);
    const writing = this.#writeRounds(rounds, lanes, repairs, stop);
    await Promise.all([repairs.run(stop), writing, checking, folding.intake.aside.watch(stop)]);
    // One more round: with its position a compare that has just ended is over for the next leader as well.
    if (!lanes.signal.aborted) await rounds.run(folding.position);
    await this.#finish(lanes);
  }

  #writeRounds(rounds: Rounds, lanes: TagLanes, repairs: Repairs, signal: AbortSignal): Promise<void> {
    const { clock, folding, status } = this.#deps;
    const onStand = (): void => void repairs.done().then(() => status.caughtUp());
    const foldToEnds = async (): Promise<void> => {
      const bounds = await this.#bounds(signal);
      if (bounds) await folding.foldTo(positionOf(bounds, 'end'), signal);
      folding.moved.notify();
    };
    const { changes } = status;
    const { fanOuts } = this.#pending;
    return writeRounds({ rounds, lanes, folding, foldToEnds, changes, fanOuts, clock, signal, onStand });
  }

  /** A store in this process needs no check: nobody else can write there. */
  async #check(lanes: TagLanes, repairs: Repairs, stop: AbortSignal): Promise<void> {
    const { checkEveryMs: everyMs, writer } = this.#deps;
    if (everyMs === null || !writer.leadership) return;
    await new BackgroundCheck({ ...this.#deps, fanOuts: this.#pending.fanOuts, lanes, repairs, everyMs }).run(stop);
  }

  /** Told to stop: what is in hand is written, then the tags are free for the next leader. */
  async #finish(lanes: TagLanes): Promise<void> {
    const { writer, tags } = this.#deps;
    if (lanes.signal.aborted) return;
    if (await lanes.leave()) await Promise.all(tags.map((tag) => writer.leadership?.free(tag)));
  }
}
