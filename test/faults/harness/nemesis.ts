import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../services/simulate/world/random.ts';
import { nowMs } from '../history.ts';
import { type Arena, allFaults } from './all-faults.ts';

/** The checker takes what comes within 15 s of a fault for its doing. */
const quietMs = 25_000;
const pairWithinMs = 5_000;

/** One fault, or one and soon after it another. */
export type Step = readonly [name: string, other?: string];

/** Without an end: each fault alone and with another one, each round in an order of its own. */
export function* schedule(names: readonly string[], seed: number): Generator<Step> {
  const random = new Random(seed, 1);
  for (;;) {
    const left = [...names];
    while (left.length > 0) {
      const [name] = left.splice(random.int(0, left.length - 1), 1) as [string];
      yield [name];
      yield [name, random.pick(names)];
    }
  }
}

export interface Nemesis {
  seed: number;
  steps: Iterable<Step>;
  /** How long steps begin, if there are so many. */
  minutes: number;
  /**
   * The machine has nothing else to do, so that the strict limits hold: a fault ends once it is undone, and there is time without
   * one. Else it ends once all is well again, because how long that takes says nothing there.
   */
  isQuiet: boolean;
}

/** Does faults to an arena, each step after all is well again. What could not be done, or undone. */
export async function doFaults(
  arena: Arena,
  { seed, steps, minutes, isQuiet }: Nemesis,
  isWell: () => Promise<void>,
): Promise<string[]> {
  const random = new Random(seed, 2);
  const failures: string[] = [];
  /** What is being done to each target: the next fault of it waits. */
  const busy = new Map<string, Promise<void>>();

  async function doOne(name: string): Promise<void> {
    const { target, run } = await allFaults[name]!(arena, random);
    await busy.get(target);
    const begin = nowMs();
    console.log(`${(begin / 1_000).toFixed(1)} s  ${name}: ${target}`);
    const running = run().catch((error: Error) => {
      failures.push(`${name} of ${target}: ${error.message}`);
    });
    busy.set(target, running);
    await running;
    if (!isQuiet) await isWell();
    arena.history.add('fault', { begin, name, target });
  }

  const untilMs = nowMs() + minutes * 60_000;
  for (const [name, other] of steps) {
    if (nowMs() >= untilMs) break;
    const doing = [doOne(name)];
    if (other) {
      await sleep(random.int(0, pairWithinMs));
      doing.push(doOne(other));
    }
    await Promise.all(doing);
    await isWell();
    if (isQuiet) await sleep(quietMs);
  }
  return failures;
}
