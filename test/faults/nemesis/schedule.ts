import { Random } from '../../../services/simulate/world/random.ts';

/** One fault, or one and soon after it another. */
export interface Step {
  names: [string] | [string, string];
  /** How long after the first the second begins, in ms. */
  lagMs: number;
}

/** Two faults are a pair if one begins at most so long after the other has begun, or ended. */
export const pairWithinMs = 5_000;

/**
 * What a nemesis does, step by step, without an end: faults alone and in pairs by turns, each round of either in an order of
 * its own. The same seed and names make the same schedule.
 */
export function* schedule(names: readonly string[], seed: number): Generator<Step, never> {
  const random = new Random(seed, 1);
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other): [string, string] => [one, other]));
  const alone = rounds(names, random);
  const together = rounds(pairs, random);
  for (;;) {
    yield { names: [alone.next().value], lagMs: 0 };
    if (pairs.length === 0) continue;
    const [one, other] = together.next().value;
    yield { names: random.chance(0.5) ? [one, other] : [other, one], lagMs: random.int(0, pairWithinMs) };
  }
}

function* rounds<T>(all: readonly T[], random: Random): Generator<T, never> {
  for (;;) {
    const left = [...all];
    while (left.length > 0) yield left.splice(random.int(0, left.length - 1), 1)[0]!;
  }
}
