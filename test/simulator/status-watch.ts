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
/** What failed is tried again after two seconds at most, and a round is written each second: later if the log doesn't answer. */
const retriedMs = 2_500;
const rejectsLookedAtMs = 10_000;

/** What a projector says it waits for, or works on. A standby's wait for its leader says nothing of a fault. */
const named = ({ waits, troubles, tagsInRepair }: ProjectorStatus): boolean =>
  [...waits.keys()].some((reason) => reason !== 'leader') || troubles.length > 0 || tagsInRepair > 0;

/** Looks at what projectors say of themselves while faults last: of all that is stuck, the one who could write tells. */
export function watchStatus(scene: Scene): void {
  const { masters, log, timeline, weather, rejects } = scene;
  /** Since when something has been so at every look. */
  const since = new Map<string, number>();
  /** Views that differed at the last compare: as they should have been, and since when. */
  let wrong = new Map<string, { wanted: string | undefined; sinceMs: number }>();

  /** What should have been told. */
  function* look(): Generator<string> {
    const { projectors } = scene;
    const isWatched = (each: ProjectorProcess): boolean => isRunning(each) && !weather.late.has(each.process.name);
    for (const each of projectors) if (!isWatched(each)) forget(each.process.name);
    const running = projectors.filter((each) => msOf(`${each.process.name} runs`, isWatched(each)) > stuckMs);
    // One that froze and then ended may have answered between two looks.
    const awayMs = Math.max(
      ...masters.flatMap(({ up, frozen, returns }, i) => [
        msOf(`master ${i} is down ${returns}`, !up),
        msOf(`master ${i} is frozen ${returns}`, up && frozen),
      ]),
    );
    // A store that is away, or connections that break again and again, are told instead.
    const answer = masters.every(({ up, frozen }) => up && !frozen) && weather.breaks === 0;
    // So is an outage between two looks: another process has come back.
    const processes = masters.map(({ redis }) => redis.process).join(' ');
    const refusals = masters.flatMap(({ redis }, i) =>
      refusalNames.filter(
        (refusal) => msOf(`master ${i} ${refusal} ${processes}`, answer && redis.refuses === refusal) > retriedMs,
      ),
    );
    const silentMs = log.frozenSinceMs === null ? 0 : timeline.nowMs - log.frozenSinceMs;
    for (const each of running) {
      const status = each.projector.status();
      const { name } = each.process;
      if (awayMs > retriedMs && !status.waits.has('redis'))
        yield `${name} does not say that it waits for a store that is away`;
      // One that waits for the store at its start has asked the log nothing yet.
      const asksMs = msOf(`${name} asks the log`, !status.waits.has('redis'));
      if (Math.min(silentMs, asksMs) > retriedMs && !status.waits.has('kafka'))
        yield `${name} does not say that it waits for a log that is silent`;
      // Two masters may refuse in two ways. A leader asks each for its tags; a standby's call asks both, and fails with one of
      // them: also with what has only begun, or is over until it asks again.
      const isNamed = (refusal: Refusal): boolean => status.troubles.some((words) => words.includes(`(${refusal}`));
      const tells = each.leads ? refusals.every(isNamed) : (masters.length > 1 ? refusalNames : refusals).some(isNamed);
      if (refusals.length > 0 && !tells) yield `${name} does not say that the store refuses: ${refusals.join(', ')}`;
      if (each.leads) yield* ofLeader(each, status);
    }
    const unled = projectors.length > 0 && !projectors.some(({ leads }) => leads);
    for (const { process, projector } of running) {
      const isUnnamed = unled && !named(projector.status());
      if (msOf(`${process.name} stands by`, isUnnamed) > unledMs)
        yield `nobody leads, and ${process.name} does not say why`;
    }
  }

  function* ofLeader({ process: { name } }: ProjectorProcess, status: ProjectorStatus): Generator<string> {
    const { unreadableSinceMs, waits } = status;
    const ageMs = unreadableSinceMs === null ? 0 : timeline.nowMs - unreadableSinceMs;
    // Where the log only does not say where it ends, all that it tells may have been read.
    for (const reason of log.hangs ? [] : (['kafka', 'transaction'] as const)) {
      const waitedMs = timeline.nowMs - (waits.get(reason) ?? timeline.nowMs);
      if (waitedMs > promptMs && ageMs < waitedMs - promptMs)
        yield `${name} waits for ${reason} for ${waitedMs} ms, and counts what is unreadable as ${ageMs} ms old`;
    }
    const isUnnamed = ageMs > stuckMs && !named(status);
    if (msOf(`${name} names nothing`, isUnnamed) > retriedMs) yield `${name} does not say what it waits for`;
    // A leader looks for what was lost there every ten seconds.
    const isLookedAt = timeline.nowMs - rejects.lostMs > rejectsLookedAtMs;
    const isRejectStuck = isLookedAt && log.bad.some((place) => !rejects.places.has(place)) && !named(status);
    if (msOf(`${name} has rejects`, isRejectStuck) > stuckMs)
      yield `${name} does not say that bad records are not set aside`;
    if (msOf(`${name} is well`, ageMs < promptMs && !named(status)) > stuckMs) yield* compare(name);
  }

  /** A leader says that all is well: no view may differ for long. */
  function* compare(name: string): Generator<string> {
    const [wanted, found] = [rendered(scene), stored(scene)];
    const { nowMs } = timeline;
    const before = wrong;
    wrong = new Map();
    for (const key of differences(wanted, found)) {
      // Of a restored key of another type nobody knows before it is read, written or checked: peace finds it (run-seed.ts).
      if (found.get(key.split(' ')[0]!) === 'set') continue;
      const last = before.get(key);
      const sinceMs = last && last.wanted === wanted.get(key) ? last.sinceMs : nowMs;
      wrong.set(key, { wanted: wanted.get(key), sinceMs });
      if (nowMs - sinceMs > stuckMs) yield `${name} says that all is well, and ${key} is wrong`;
    }
  }

  /** Of one that did not run, nothing was so at every look. */
  function forget(name: string): void {
    for (const what of since.keys()) if (what.startsWith(`${name} `)) since.delete(what);
  }

  /** For how long something has been so, now included. */
  function msOf(what: string, is: boolean): number {
    const { nowMs } = timeline;
    if (!is) since.delete(what);
    else if (!since.has(what)) since.set(what, nowMs);
    return is ? nowMs - since.get(what)! : 0;
  }

  const lookAgain = (): void => {
    const silence = look().next().value;
    if (silence) scene.fault ??= new Error(silence);
    else timeline.after(lookMs, lookAgain);
  };
  timeline.after(lookMs, lookAgain);
}

const isRunning = ({ alive, stopping, process }: ProjectorProcess): boolean => alive && !stopping && !process.frozen;
