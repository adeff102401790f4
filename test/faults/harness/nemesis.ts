import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../services/simulate/world/random.ts';
import { nowMs } from '../history.ts';
import { type Arena, allFaults } from './all-faults.ts';

/** The checker takes what comes within 15 s of a fault for its doing. */
const quietMs = 25_000;
/** Two faults are a pair if one begins at most so long after the other has begun, or ended. */
const pairWithinMs = 5_000;

interface NemesisOptions {
  seed: number;
  /** How long steps begin; none: until each fault has come once, which pairs alone do soonest. */
  minutes: number | null;
  /** The names of the faults to choose from. */
  faults: readonly string[];
  /** Waits until all is well again, but not for ever. */
  isWell(): Promise<void>;
  /**
   * The machine has nothing else to do: a fault ends once it is undone, and there is time without one. Else it ends once all is
   * well again, because how long that takes says nothing there.
   */
  isQuiet: boolean;
}

/** What was done: how often each fault came alone, and each pair within five seconds; and what could not be done, or undone. */
export interface Done {
  alone: Map<string, number>;
  together: Map<string, number>;
  failures: string[];
}

/** Does faults to an arena, by the schedule of a seed, each step after all is well again. */
export async function doFaults(arena: Arena, { isWell, isQuiet, ...options }: NemesisOptions): Promise<Done> {
  const random = new Random(options.seed, 2);
  const done: Done = { alone: new Map(), together: new Map(), failures: [] };
  /** What is being done to each target: the next fault of it waits. */
  const busy = new Map<string, Promise<void>>();
  let ids = 0;

  async function begin(name: string): Promise<void> {
    const { target, run } = await allFaults[name]!(arena, random);
    await busy.get(target);
    const event = { type: 'fault', id: ids++, name, target } as const;
    arena.history.add({ ...event, state: 'begin' });
    console.log(`${(nowMs() / 1_000).toFixed(1)} s  ${name}: ${target}`);
    const running = run().catch((error: Error) => {
      done.failures.push(`${name} of ${target}: ${error.message}`);
      console.error(done.failures.at(-1));
    });
    busy.set(target, running);
    await running;
    if (!isQuiet) await isWell();
    arena.history.add({ ...event, state: 'end' });
  }

  const { faults, minutes, seed } = options;
  const untilMs = minutes === null ? Number.POSITIVE_INFINITY : nowMs() + minutes * 60_000;
  for (const { names, lagMs } of minutes === null ? onceEach(faults, seed) : schedule(faults, seed)) {
    if (nowMs() >= untilMs) break;
    const doing = [begin(names[0]!)];
    if (names[1]) {
      await sleep(lagMs);
      doing.push(begin(names[1]));
    }
    await Promise.all(doing);
    const count = names[1] ? done.together : done.alone;
    const name = names.toSorted().join(' + ');
    count.set(name, (count.get(name) ?? 0) + 1);
    await isWell();
    if (minutes !== null) await sleep(isQuiet ? quietMs : pairWithinMs);
  }
  return done;
}

/** One fault, or one and soon after it another. */
interface Step {
  names: readonly string[];
  /** How long after the first the second begins, in ms. */
  lagMs: number;
}

/**
 * What a nemesis does, step by step, without an end: faults alone and in pairs by turns, each round of either in an order of
 * its own. The same seed and names make the same schedule.
 */
function* schedule(names: readonly string[], seed: number): Generator<Step> {
  const random = new Random(seed, 1);
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other]));
  const alone = rounds(names, random);
  const together = rounds(pairs, random);
  for (;;) {
    yield { names: [alone.next().value], lagMs: 0 };
    if (pairs.length === 0) continue;
    const pair = together.next().value;
    yield { names: random.chance(0.5) ? pair : pair.toReversed(), lagMs: random.int(0, pairWithinMs) };
  }
}

/** Each fault once, two by two. */
function* onceEach(names: readonly string[], seed: number): Generator<Step> {
  const random = new Random(seed, 1);
  for (let i = 0; i < names.length; i += 2) yield { names: names.slice(i, i + 2), lagMs: random.int(0, 2_000) };
}

function* rounds<T>(all: readonly T[], random: Random): Generator<T, never> {
  for (;;) {
    const left = [...all];
    while (left.length > 0) yield left.splice(random.int(0, left.length - 1), 1)[0]!;
  }
}
