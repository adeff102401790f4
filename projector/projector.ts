import { allTags } from '../schemas/views/view-keys.ts';
import { Facts } from './facts/facts.ts';
import { Folding } from './intake/folding.ts';
import { assertSamePartitions, copyPosition, isWithin, nearest, positionOf } from './intake/position.ts';
import { parseStoredPosition } from './intake/settled-position.ts';
import { Leader } from './leading/leader.ts';
import { standBy, type TakenTags, takeAll } from './leading/standby.ts';
import { type Clock, realClock } from './ports/clock.ts';
import type { EventLog, LogBounds, Position, RejectSink } from './ports/event-log.ts';
import { beatMs } from './ports/leading.ts';
import type { Log } from './ports/log.ts';
import { noMetrics, type ProjectorMetrics } from './ports/metrics.ts';
import type { Leadership, TagLook, ViewWriter } from './ports/view-writer.ts';
import { retryLogged, untilAborted } from './ports/waiting.ts';
import { otherLogWords, type ProjectorStatus, type Role, Watching } from './status/status.ts';

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
  /** How often a leader compares a tag's views with the facts in the background. Not at all by default. */
  checkEveryMs?: number | null;
}

const defaults = { metrics: noMetrics, clock: realClock, tags: allTags, checkEveryMs: null };
type Defaulted = Required<ProjectorDeps>;

/**
 * Folds the log and keeps the views up to date. Every beginning is one routine (docs/rules.md#beginning): it stands by,
 * folds up to the leader's position, takes over once nobody leads, writes what the leader before left undone, and
 * follows the log. Once another leads, it stands by again. Run it once. Abort the signal to stop it: it finishes the
 * present round, and leaves its tags free. Nothing else makes `run` resolve. It rejects with faults: of the log, or of a
 * store that is unfit for views.
 */
export class Projector {
  readonly #deps: Defaulted;
  readonly #watching: Watching;
  #folding: Folding | null = null;
  #bounds: LogBounds | null = null;
  /** Which log it is; null where that is not known. */
  #identity: string | null = null;
  #ready = false;
  /** Of a standby: up to where the look before asked it to fold. */
  #asked: Position | null = null;
  /** Of a standby: why a sign of life was refused since it looked last. */
  #refusal: Error | null = null;

  constructor(deps: ProjectorDeps) {
    const all: Defaulted = { ...defaults, ...deps };
    this.#watching = new Watching(all);
    this.#deps = { ...all, writer: this.#watching.writer };
  }

  /** Whether the views have reached the ends sampled at the start; of a standby, whether it is folded (docs/rules.md#ready-projector). */
  get ready(): boolean {
    return this.#ready;
  }

  get role(): Role {
    return this.#watching.role;
  }

  /** What has been folded so far. */
  get position(): Position {
    return copyPosition(this.#folding!.position);
  }

  /** What it does just now, and what it waits for. */
  status(): ProjectorStatus {
    return this.#watching.status(this.#folding ? this.position : null);
  }

  get facts(): Facts {
    return this.#folding?.fold.facts ?? noFacts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const bothStop = AbortSignal.any([signal, stop.signal]);
    // Before anything is asked of the log, which may take long: API processes see that a projector is coming.
    const coming = Promise.all([this.#beatComing(bothStop), this.#watching.waits.watch(bothStop)]);
    try {
      await this.#run(bothStop);
      if (!signal.aborted)
        throw new Error(
          'Cannot go on projecting: the projector stopped, and nobody told it to. This is a fault of the program: start it again, and report it',
        );
    } catch (cause) {
      if (!signal.aborted) throw cause;
    } finally {
      stop.abort();
      this.#ready = false;
      this.#watching.ended();
      await coming;
      await this.#folding?.intake.drain();
    }
  }

  async #run(stop: AbortSignal): Promise<void> {
    const { eventLog, writer, tags } = this.#deps;
    const { leadership } = writer;
    // A store that is away, or refuses, is known before the log is asked for anything.
    const announced = { ...this.#deps, signal: stop };
    if (leadership) await retryLogged('look who leads', () => leadership.coming(tags), announced);
    // Waits for a log that is away, but stops waiting when the projector is told to stop.
    this.#bounds = await untilAborted(this.#watching.askingLog(eventLog.bounds()), stop);
    const identity = this.#watching.askingLog(Promise.resolve(eventLog.identity?.() ?? null));
    this.#identity = await untilAborted(identity, stop);
    const ended = new AbortController();
    const end = AbortSignal.any([stop, ended.signal]);
    const shared = { ...this.#deps, watching: this.#watching, signal: end };
    // Nothing is folded before it is known how far a leader has got.
    const folding = new Folding(this.#bounds, leadership ? positionOf(this.#bounds, 'low') : null, shared);
    this.#folding = folding;
    const onReady = () => this.#becomeReady();
    const leader = new Leader({ ...shared, folding, identity: this.#identity, onReady });
    // The first to end ends the other: a fault of the log, or being told to stop.
    const tasks = [folding.follow(end), this.#leadInTurn(folding, leader, end)];
    try {
      await Promise.race(tasks);
    } finally {
      ended.abort();
      await Promise.allSettled(tasks);
    }
  }

  async #leadInTurn(folding: Folding, leader: Leader, stop: AbortSignal): Promise<void> {
    const { leadership } = this.#deps.writer;
    if (leadership) return this.#takeTurns(leadership, folding, leader, stop);
    this.#stand('leader');
    folding.intake.beginPublishing();
    await leader.lead(inProcess(this.#deps.tags));
  }

  /** Stands by, leads, and stands by again. */
  async #takeTurns(leadership: Leadership, folding: Folding, leader: Leader, stop: AbortSignal): Promise<void> {
    const { log } = this.#deps;
    while (!stop.aborted) {
      const seen = await this.#standBy(leadership, folding, stop);
      if (seen === null) return;
      let taken = await this.#takeAll(leadership, seen, stop);
      while (taken) {
        this.#stand('leader');
        const end = await leader.lead(taken);
        if (end === 'stopped') return;
        log.warn(
          end === 'fenced'
            ? 'Another projector has taken over: standing by'
            : 'The view store lost or changed something: taking the lead again, to compare its views with the log',
        );
        taken = end === 'lost' ? await this.#takeAgain(leadership, stop) : null;
      }
      folding.intake.endPublishing();
      this.#stand('standby');
    }
  }

  /** Nothing is taken with an old look: a leader may not have been able to move its fences. */
  #takeAll(leadership: Leadership, seen: readonly string[], stop: AbortSignal): Promise<TakenTags | null> {
    const { clock, log, tags } = this.#deps;
    return takeAll(leadership, tags, seen).catch(async (cause: Error & { retry?: boolean }) => {
      if (cause.retry === false) throw cause;
      log.warn(`Cannot take over the views, standing by again: ${cause.message}`);
      await clock.sleep(beatMs, stop);
      return null;
    });
  }

  /** Resolves to the fences that may be taken. */
  #standBy(leadership: Leadership, folding: Folding, stop: AbortSignal): Promise<readonly string[] | null> {
    const { eventLog } = this.#deps;
    return standBy({
      ...this.#deps,
      leadership,
      signal: stop,
      onLook: (looks) => this.#follow(looks, folding),
      refusal: () => {
        const refusal = this.#refusal;
        this.#refusal = null;
        return refusal;
      },
      onJudged: (could) => this.#watching.judged(could),
      isFolded: async () => {
        const { limit } = folding;
        if (limit === null || !folding.isBehind(limit)) return true;
        // A position that is beyond the log, after its topics were made anew, will never be reached.
        return !isWithin(limit, positionOf(await untilAborted(eventLog.bounds(), stop), 'end'));
      },
    });
  }

  /** The fold may go as far as every tag's position. */
  #follow(looks: readonly TagLook[], folding: Folding): void {
    const stored = looks.map(({ position }) => parseStoredPosition(position)).filter((each) => each !== null);
    for (const each of stored) assertSamePartitions(each, this.#identity, this.#bounds!);
    const limit = nearest(stored.filter(({ log }) => log === this.#identity));
    // A busy leader's position moves between any two looks: what the one before asked for counts as well.
    const isFolded = limit !== null && [this.#asked, limit].some((each) => each !== null && !folding.isBehind(each));
    this.#asked = limit;
    if (limit) folding.limit = limit;
    this.#besideOtherLog(limit === null && stored.length > 0);
    const wasReady = this.#ready;
    this.#ready = limit !== null && (this.#ready || isFolded);
    if (this.#ready && !wasReady)
      this.#deps.log.info('Ready: standing by with the log folded, to take over if the leader ends');
    if (isFolded) this.#watching.standsBy();
  }

  /** Such a standby is never ready, however long it waits beside the leader. */
  #besideOtherLog(is: boolean): void {
    if (is && !this.#watching.besideOtherLog) this.#deps.log.warn(`Not ready: ${otherLogWords}`);
    this.#watching.besideOtherLog = is;
  }

  /** After a loss: each tag from the fence that it has now. Those that are not as they were left are doubtful. */
  #takeAgain(leadership: Leadership, stop: AbortSignal): Promise<TakenTags | null> {
    const { tags } = this.#deps;
    const take = async () => {
      const seen = (await leadership.look(tags)).map(({ fence }) => fence);
      const doubtful = new Set(tags.filter((tag, i) => !leadership.isAsLeft(tag, seen[i]!)));
      return takeAll(leadership, tags, seen, (tag) => doubtful.has(tag));
    };
    return retryLogged('take the views again', take, { ...this.#deps, signal: stop });
  }

  async #beatComing(signal: AbortSignal): Promise<void> {
    const { clock, tags, writer } = this.#deps;
    const { leadership } = writer;
    while (leadership && !signal.aborted) {
      await clock.sleep(beatMs, signal);
      const sinceMs = this.status().unreadableSinceMs;
      // A leader's fences say that it is there. The looks log a store that is away, or takes no writes.
      if (this.#watching.role === 'standby') {
        await leadership.coming(tags).catch((cause: Error) => {
          this.#refusal = cause;
        });
      } else await leadership.unreadable(sinceMs === null ? null : clock.nowMs() - sinceMs).catch(() => undefined);
    }
  }

  #becomeReady(): void {
    if (this.#ready || this.#watching.role !== 'leader') return;
    this.#ready = true;
    this.#watching.caughtUp();
    this.#deps.log.info('Ready: the views stand at the ends sampled at the start');
  }

  #stand(role: Role): void {
    if (role === this.#watching.role) return;
    this.#watching.stand(role);
    if (role === 'leader') this.#besideOtherLog(false);
    this.#ready = false;
    this.#asked = null;
  }
}

const noFacts = new Facts();
const nothingLeft = { position: null, open: [], compare: false };
/** A store in this process: nobody has led before. */
const inProcess = (tags: readonly number[]) => new Map(tags.map((tag) => [tag, nothingLeft]));
