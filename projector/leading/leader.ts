import { BackgroundCheck } from '../checking/background-check.ts';
import { Repairs } from '../checking/repairs.ts';
import type { Folding } from '../intake/folding.ts';
import type { EventLog, Position } from '../ports/event-log.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { positionOf } from '../position/position.ts';
import { race, Stop } from '../running/stop.ts';
import type { RetryDeps } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import type { PendingWrites } from '../writing/pending-writes.ts';
import { Rounds } from '../writing/rounds.ts';
import { TagLanes } from '../writing/tag-lanes.ts';
import { type Beginning, foldToBeginning } from './beginning.ts';
import type { Life, TermEnd } from './life.ts';
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
  /** What changed facts leave to write, of one term after the other. */
  pending: PendingWrites;
  tags: readonly number[];
  /** Which log it is; null where that is not known. */
  identity: string | null;
  life: Life;
  status: Status;
  /** How often a tag's views are compared in the background; null: they are not. */
  checkEveryMs: number | null;
}

/** A term, from `fold` to its end (life.ts). */
export class Leader {
  readonly #deps: LeaderDeps;
  /** The tags with what was left there. */
  readonly #taken: TakenTags;
  readonly #term: Stop;
  readonly #lanes: TagLanes;
  readonly #rounds: Rounds;
  readonly #repairs: Repairs;
  /** Told to stop, or refused. */
  readonly #stop: AbortSignal;
  #isFree = false;

  constructor(taken: TakenTags, deps: LeaderDeps) {
    const { clock, log, metrics, signal, writer, tags, folding, pending, identity, status } = deps;
    this.#deps = deps;
    this.#taken = taken;
    this.#term = new Stop([signal], { finishMs: finishMsMax, clock });
    const shared = { clock, log, metrics, signal: this.#term.ended };
    const lanes = new TagLanes({
      ...shared,
      writer,
      tags,
      onWritten: (views, bytes) => metrics.written(views, bytes),
      onCompare: (tag) => this.#repairs.compare(tag, true),
      // The next round is not waited for: reads may be.
      onDoubt: () => folding.moved.notify(),
    });
    const { barriers, begin } = folding;
    const { facts } = folding.fold;
    const rounds = new Rounds({ facts, pending, lanes, barriers, identity, begin, rejects: status.rejects });
    this.#lanes = lanes;
    this.#rounds = rounds;
    this.#repairs = new Repairs({ ...shared, facts, writer, lanes, status });
    this.#stop = new Stop([this.#term.signal, lanes.signal]).signal;
    status.readable = () => (lanes.isComplete ? rounds.written : null);
  }

  /** Leads until the store refuses, or until told to stop (docs/rules.md#beginning). */
  async lead(): Promise<TermEnd> {
    const { life, pending, status } = this.#deps;
    life.to('fold');
    // The fences move from the first moment on, however long the log is.
    const tasks = [this.#lanes.run(), this.#work()];
    try {
      await race(null, ...tasks);
    } catch (cause) {
      // After a refusal everything else fails too. That is no fault.
      if (this.#lanes.refusal === null) throw cause;
    } finally {
      this.#term.end();
      await Promise.allSettled(tasks);
      await this.#lanes.ended();
      status.termEnded(this.#lanes.refusal === 'lost');
      // The next term begins with what the store says, as another projector's would. The facts stay.
      pending.forget();
      life.to(this.#end);
    }
    return this.#end;
  }

  /** Told to stop by a refusal, the work may end before the lanes say why. */
  get #end(): TermEnd {
    return this.#lanes.refusal ?? (this.#isFree ? 'free' : 'ended');
  }

  async #work(): Promise<void> {
    const left = await this.#fold();
    if (left) {
      await this.#begin(left);
      await this.#write();
    }
    await this.#free();
  }

  /** Returns what must be done beside writing what changes; null when told to stop. */
  async #fold(): Promise<Beginning | null> {
    const { folding, log, pending, tags } = this.#deps;
    // Sampled after taking the tags. So nothing older than what any leader before wrote is ever written.
    const ends = await this.#logEnds();
    if (!ends) return null;
    pending.mark();
    const left = await foldToBeginning(this.#taken, ends, { ...this.#deps, signal: this.#stop });
    // Where all is to be compared anyway, marks would only be rendered twice.
    const isAllCompared = left.compare.size === tags.length;
    if (isAllCompared) pending.forget();
    this.#repairs.cause = left.deleted;
    for (const tag of left.compare) this.#repairs.compare(tag, this.#taken.get(tag)!.compare);
    folding.limit = null;
    await folding.foldTo(ends, this.#stop);
    if (this.#stop.aborted) return null;
    log.info('Read up to the log’s ends');
    return left;
  }

  async #begin({ names, fanOuts }: Beginning): Promise<void> {
    const { folding, life, pending, writer } = this.#deps;
    life.to('begin');
    pending.mark();
    await assertRoom(this.#taken, folding.fold.facts, writer, { ...this.#deps, signal: this.#stop }).catch(
      async (cause) => {
        // Nothing was written.
        await this.#free();
        throw cause;
      },
    );
    for (const [tag, write] of pending.takeOn(names, fanOuts)) await this.#lanes.add(tag, write);
  }

  async #write(): Promise<void> {
    const { clock, folding, life, pending, status } = this.#deps;
    const [lanes, rounds, repairs, signal] = [this.#lanes, this.#rounds, this.#repairs, this.#stop];
    life.to('write');
    const onStand = (): void => void repairs.done().then(() => status.caughtUp());
    const foldToEnds = async (): Promise<void> => {
      const ends = await this.#logEnds();
      if (ends) await folding.foldTo(ends, signal);
      folding.moved.notify();
    };
    const { fanOuts } = pending;
    const paced = { rounds, lanes, folding, foldToEnds, changes: status.changes, fanOuts, clock, signal, onStand };
    const aside = folding.intake.aside.watch(signal);
    await Promise.all([repairs.run(signal), writeRounds(paced), this.#check(), aside]);
    // One more round: with its position a compare that has just ended is over for the next leader as well.
    if (!lanes.signal.aborted) await rounds.run(folding.position);
  }

  /** A store in this process needs no check: nobody else can write there. */
  async #check(): Promise<void> {
    const { checkEveryMs: everyMs, pending, writer } = this.#deps;
    if (everyMs === null || !writer.leadership) return;
    const parts = { lanes: this.#lanes, repairs: this.#repairs, fanOuts: pending.fanOuts };
    await new BackgroundCheck({ ...this.#deps, ...parts, everyMs }).run(this.#stop);
  }

  /** Told to stop: what is in hand is written, then the tags are free for the next leader. */
  async #free(): Promise<void> {
    const { writer, tags } = this.#deps;
    if (this.#lanes.signal.aborted || !(await this.#lanes.leave())) return;
    await Promise.all(tags.map((tag) => writer.leadership?.free(tag)));
    this.#isFree = true;
  }

  /** The log's ends as they are now; null when told to stop. */
  #logEnds(): Promise<Position | null> {
    const { eventLog, status } = this.#deps;
    return race(this.#stop, status.askingLog(eventLog.bounds())).then(
      (bounds) => positionOf(bounds, 'end'),
      (cause: unknown) => {
        if (!this.#stop.aborted) throw cause;
        return null;
      },
    );
  }
}
