import { beatMs, isFree, lookMsMax, StillFences } from '../ports/leading.ts';
import type { Leadership, TagLook, TakenTag } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import type { Log } from '../running/log.ts';
import { LoggedFault } from '../running/waiting.ts';
import type { Life } from './life.ts';

const tooSlow = new Error(`the view store took over ${lookMsMax / 1_000} s, which says nothing about a leader`);
const noWrites = ({ message }: Error) =>
  new Error(`the view store takes no sign of life, which says nothing about a leader: ${message}`);
// How often it asks, between two looks, whether the leader has given up its tags.
const freeEveryMs = 100;

interface StandbyDeps {
  leadership: Pick<Leadership, 'look' | 'isFree'>;
  tags: readonly number[];
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  life: Life;
  /** What the tags say now: the fold follows the positions. */
  onLook(looks: readonly TagLook[]): void;
  /** Why a sign of life of this projector was refused since this was last asked; null: none was. */
  refusal(): Error | null;
  /** Whether the last look told anything about a leader. */
  onJudged(could: boolean): void;
  /** Whether the log is folded as far as it may be. */
  isFolded(): Promise<boolean>;
}

/**
 * Stands by until all tags may be taken and the log is folded (docs/rules.md#take-over). Resolves to their fences as they
 * were seen; null when told to stop.
 */
export async function standBy(deps: StandbyDeps): Promise<readonly string[] | null> {
  const { leadership, tags, clock, signal, life } = deps;
  const still = new StillFences();
  const fault = new LoggedFault('find out who leads', deps.log);
  while (!signal.aborted) {
    life.to('look');
    const beganMs = clock.nowMs();
    const looks = await leadership.look(tags).catch((cause: unknown) => {
      fault.happened(cause);
      return null;
    });
    const answeredMs = clock.nowMs();
    // A leader's fences may stand still for the same reason.
    const refusal = deps.refusal();
    const counts = looks !== null && refusal === null && answeredMs - beganMs <= lookMsMax;
    deps.onJudged(counts);
    if (counts) fault.over();
    else still.missed();
    if (looks) {
      if (!counts) fault.happened(refusal ? noWrites(refusal) : tooSlow);
      deps.onLook(looks);
      const fences = looks.map(({ fence }) => fence);
      if (counts && still.looked(fences) && (await deps.isFolded())) return signal.aborted ? null : fences;
    }
    life.to('stand by');
    const freed = await untilFree(deps, answeredMs + beatMs);
    if (freed) return freed;
  }
  return null;
}

/** Waits until the next look is due. Resolves to the fences if all are free, and the log is folded, before that. */
async function untilFree(deps: StandbyDeps, untilMs: number): Promise<readonly string[] | null> {
  const { leadership, tags, clock, signal, life } = deps;
  for (;;) {
    const leftMs = untilMs - clock.nowMs();
    if (signal.aborted || leftMs <= 0) return null;
    await clock.sleep(Math.min(freeEveryMs, leftMs), signal);
    // If the store is away, the next look logs it.
    if (signal.aborted || !(await leadership.isFree(tags[0]!).catch(() => false))) continue;
    life.to('look');
    const looks = await leadership.look(tags).catch(() => []);
    if (looks.length > 0 && looks.every(({ fence }) => isFree(fence))) {
      deps.onLook(looks);
      if ((await deps.isFolded()) && !signal.aborted) return looks.map(({ fence }) => fence);
    }
    life.to('stand by');
  }
}

/** The tags that a projector has taken, with what was left there. */
export type TakenTags = ReadonlyMap<number, TakenTag>;

/**
 * Takes all tags or none, each from the exact fence that was seen (docs/rules.md#fence). Where a fence is another one by
 * now, it gives up what it took, and resolves to null. The first tag is taken by itself: of a hundred projectors that try
 * at once, one gets it. That one takes all others at once: one after the other would be 64 round trips without a leader.
 */
export async function takeAll(
  leadership: Pick<Leadership, 'take' | 'free'>,
  tags: readonly number[],
  seen: readonly string[],
  isDoubtful: (tag: number) => boolean = () => false,
): Promise<TakenTags | null> {
  const take = (tag: number, i: number) => leadership.take(tag, seen[i]!, isDoubtful(tag));
  const first = await take(tags[0]!, 0);
  if (!first) return null;
  const others = await Promise.allSettled(tags.slice(1).map((tag, i) => take(tag, i + 1)));
  const found = [first, ...others.map((each) => (each.status === 'fulfilled' ? each.value : null))];
  const taken = new Map(tags.flatMap((tag, i) => (found[i] ? [[tag, found[i]]] : [])));
  if (taken.size === tags.length) return taken;
  await Promise.all([...taken.keys()].map((tag) => leadership.free(tag)));
  const failed = others.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
  return null;
}
