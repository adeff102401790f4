import type { ProjectorStatus } from '../../projector/status/status.ts';
import { differences, rendered, stored } from './end-state.ts';
import type { ProjectorProcess } from './processes.ts';
import { type Refusal, refusalNames } from './redis-in-memory.ts';
import type { Scene } from './scene.ts';

const lookMs = 500;
/** What is stuck for longer must be told. */
const stuckMs = 1_500;
/** Nobody leads for longer, unless something is in the way: how long a take-over takes, slow looks included. */
const unledMs = 6_000;
const promptMs = 1_000;
/**
 * What failed is tried again after two seconds at most, also by a leader that takes its views again, and a round is written
 * each second: later if the log doesn't answer.
 */
const retriedMs = 2_500;
const rejectsLookedAtMs = 10_000;

/** What a projector says it waits for, or works on. A standby's wait for its leader says nothing of a fault. */
const named = ({ waits, troubles, tagsInRepair }: ProjectorStatus): boolean =>
  [...waits.keys()].some((reason) => reason !== 'leader') || troubles.length > 0 || tagsInRepair > 0;

interface WrongView {
  wanted: string | undefined;
  sinceMs: number;
}

/** Looks at what projectors say of themselves while faults last: of all that is stuck, the one who could write tells. */
export class StatusWatch {
  readonly #scene: Scene;
  /** Since when something has been so at every look. */
  readonly #since = new Map<string, number>();
  /** Views that differed at the last compare: as they should have been, and since when. */
  #wrong = new Map<string, WrongView>();

  constructor(scene: Scene) {
    this.#scene = scene;
    const look = (): void => {
      const silence = this.#look().next().value;
      if (silence) scene.fault ??= new Error(silence);
      else scene.timeline.after(lookMs, look);
    };
    scene.timeline.after(lookMs, look);
  }

  /** What should have been told. */
  *#look(): Generator<string> {
    const { projectors, masters, log, timeline, weather } = this.#scene;
    const isWatched = (each: ProjectorProcess): boolean => isRunning(each) && !weather.late.has(each.process.name);
    for (const each of projectors) if (!isWatched(each)) this.#forget(each.process.name);
    const running = projectors.filter((each) => this.#ms(`${each.process.name} runs`, isWatched(each)) > stuckMs);
    // One that froze and then ended may have answered between two looks.
    const awayMs = Math.max(
      ...masters.flatMap(({ up, frozen, returns }, i) => [
        this.#ms(`master ${i} is down ${returns}`, !up),
        this.#ms(`master ${i} is frozen ${returns}`, up && frozen),
      ]),
    );
    // A store that is away, or connections that break again and again, are told instead.
    const answer = masters.every(({ up, frozen }) => up && !frozen) && weather.breaks === 0;
    // So is an outage between two looks: another process has come back.
    const processes = masters.map(({ redis }) => redis.process).join(' ');
    const refusals = masters.flatMap(({ redis }, i) =>
      refusalNames.filter(
        (refusal) => this.#ms(`master ${i} ${refusal} ${processes}`, answer && redis.refuses === refusal) > retriedMs,
      ),
    );
    const silentMs = log.frozenSinceMs === null ? 0 : timeline.nowMs - log.frozenSinceMs;
    for (const each of running) {
      const status = each.projector.status();
      const { name } = each.process;
      if (awayMs > retriedMs && !status.waits.has('redis'))
        yield `${name} does not say that it waits for a store that is away`;
      // One that waits for the store at its start has asked the log nothing yet.
      const asksMs = this.#ms(`${name} asks the log`, !status.waits.has('redis'));
      if (Math.min(silentMs, asksMs) > retriedMs && !status.waits.has('kafka'))
        yield `${name} does not say that it waits for a log that is silent`;
      // Two masters may refuse in two ways. A leader asks each for its tags; a standby's call asks both, and fails with one of
      // them: also with what has only begun, or is over until it asks again.
      const isNamed = (refusal: Refusal): boolean => status.troubles.some((words) => words.includes(`(${refusal}`));
      const tells = each.leads ? refusals.every(isNamed) : (masters.length > 1 ? refusalNames : refusals).some(isNamed);
      if (refusals.length > 0 && !tells) yield `${name} does not say that the store refuses: ${refusals.join(', ')}`;
      if (each.leads) yield* this.#leader(each, status);
    }
    const unled = projectors.length > 0 && !projectors.some(({ leads }) => leads);
    for (const { process, projector } of running) {
      const isUnnamed = unled && !named(projector.status());
      if (this.#ms(`${process.name} stands by`, isUnnamed) > unledMs)
        yield `nobody leads, and ${process.name} does not say why`;
    }
  }

  *#leader(each: ProjectorProcess, status: ProjectorStatus): Generator<string> {
    const { log, around, timeline } = this.#scene;
    const { name } = each.process;
    const { unreadableSinceMs, waits } = status;
    const ageMs = unreadableSinceMs === null ? 0 : timeline.nowMs - unreadableSinceMs;
    // Where the log only does not say where it ends, all that it tells may have been read.
    for (const reason of log.hangs ? [] : (['kafka', 'transaction'] as const)) {
      const waitedMs = timeline.nowMs - (waits.get(reason) ?? timeline.nowMs);
      if (waitedMs > promptMs && ageMs < waitedMs - promptMs)
        yield `${name} waits for ${reason} for ${waitedMs} ms, and counts what is unreadable as ${ageMs} ms old`;
    }
    const isUnnamed = ageMs > stuckMs && !named(status);
    if (this.#ms(`${name} names nothing`, isUnnamed) > retriedMs) yield `${name} does not say what it waits for`;
    // A leader looks for what was lost there every ten seconds.
    const isLookedAt = timeline.nowMs - around.rejects.lostMs > rejectsLookedAtMs;
    const isRejectStuck = isLookedAt && log.bad.some((place) => !around.rejects.places.has(place)) && !named(status);
    if (this.#ms(`${name} has rejects`, isRejectStuck) > stuckMs)
      yield `${name} does not say that bad records are not set aside`;
    if (this.#ms(`${name} is well`, ageMs < promptMs && !named(status)) > stuckMs) yield* this.#compare(name);
  }

  /** A leader says that all is well: no view may differ for long. */
  *#compare(name: string): Generator<string> {
    const wanted = rendered(this.#scene);
    const { nowMs } = this.#scene.timeline;
    const wrong = new Map<string, WrongView>();
    const found = stored(this.#scene);
    for (const key of differences(wanted, found)) {
      // Of a restored key of another type nobody knows before it is read, written or checked: peace finds it (run-seed.ts).
      if (found.get(key.split(' ')[0]!) === 'set') continue;
      const before = this.#wrong.get(key);
      const sinceMs = before && before.wanted === wanted.get(key) ? before.sinceMs : nowMs;
      wrong.set(key, { wanted: wanted.get(key), sinceMs });
      if (nowMs - sinceMs > stuckMs) yield `${name} says that all is well, and ${key} is wrong`;
    }
    this.#wrong = wrong;
  }

  /** Of one that did not run, nothing was so at every look. */
  #forget(name: string): void {
    for (const what of this.#since.keys()) if (what.startsWith(`${name} `)) this.#since.delete(what);
  }

  /** For how long something has been so, now included. */
  #ms(what: string, is: boolean): number {
    const { nowMs } = this.#scene.timeline;
    if (!is) this.#since.delete(what);
    else if (!this.#since.has(what)) this.#since.set(what, nowMs);
    return is ? nowMs - this.#since.get(what)! : 0;
  }
}

const isRunning = ({ alive, stopping, process }: ProjectorProcess): boolean => alive && !stopping && !process.frozen;
