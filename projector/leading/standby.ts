import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { Leadership, TagLook } from '../ports/view-writer.ts';
import { beatMs } from '../writing/tag-lanes.ts';
import { FenceWatch } from './fence-watch.ts';

// A look that takes longer says more about the store than about the leader.
const lookMsMax = 250;
// Between two looks: whether the leader has gone of its own accord.
const freeEveryMs = 100;

export interface StandbyDeps {
  leadership: Leadership;
  tags: readonly number[];
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  /** What the tags say now: the fold follows the positions. */
  onLook(looks: readonly TagLook[]): void;
  /** Whether the log is folded as far as it may be. */
  isFolded(): Promise<boolean>;
}

/**
 * Stands by until all tags may be taken and the log is folded: resolves to their fences as they were seen; null when told
 * to stop.
 */
export async function standBy(deps: StandbyDeps): Promise<readonly string[] | null> {
  const { leadership, clock, signal } = deps;
  const watch = new FenceWatch(leadership.isFree);
  const fault = new LastFault(deps.log);
  while (!signal.aborted) {
    const startMs = clock.nowMs();
    const looks = await look(deps, fault);
    if (looks === null || clock.nowMs() - startMs > lookMsMax) watch.missed();
    if (looks) deps.onLook(looks);
    if (looks && clock.nowMs() - startMs <= lookMsMax) {
      const fences = looks.map(({ fence }) => fence);
      if (watch.looked(fences) && (await deps.isFolded())) return signal.aborted ? null : fences;
    }
    const freed = await untilFree(deps, startMs + beatMs);
    if (freed) return freed;
  }
  return null;
}

/** Until the next look is due. Fences, if all are free and the log is folded before that. */
async function untilFree(deps: StandbyDeps, untilMs: number): Promise<readonly string[] | null> {
  const { leadership, tags, clock, signal } = deps;
  while (!signal.aborted && clock.nowMs() < untilMs) {
    await clock.sleep(Math.min(freeEveryMs, untilMs - clock.nowMs()), signal);
    // A store that is away is spoken of by the looks.
    const look = (some: readonly number[]) => leadership.look(some).catch(() => []);
    const isFree = (looks: readonly TagLook[]): boolean =>
      looks.length > 0 && looks.every(({ fence }) => leadership.isFree(fence));
    if (signal.aborted || !isFree(await look(tags.slice(0, 1)))) continue;
    const looks = await look(tags);
    if (!isFree(looks)) continue;
    deps.onLook(looks);
    if ((await deps.isFolded()) && !signal.aborted) return looks.map(({ fence }) => fence);
  }
  return null;
}

async function look({ leadership, tags }: StandbyDeps, fault: LastFault): Promise<TagLook[] | null> {
  try {
    const looks = await leadership.look(tags);
    fault.over();
    return looks;
  } catch (cause) {
    fault.happened(cause as Error & { retry?: boolean });
    return null;
  }
}

/** Logs each new reason once; throws one that no waiting mends. */
class LastFault {
  readonly #log: Log;
  #message = '';

  constructor(log: Log) {
    this.#log = log;
  }

  happened(cause: Error & { retry?: boolean }): void {
    if (cause.retry === false) throw cause;
    if (cause.message !== this.#message) {
      this.#log.warn(`Cannot look who leads, trying again: ${cause.message}`);
    }
    this.#message = cause.message;
  }

  over(): void {
    if (this.#message) this.#log.info('It could look who leads now');
    this.#message = '';
  }
}
