import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../services/simulate/world/random.ts';
import { nowMs } from '../harness/history-writer.ts';
import type { Arena, Fault } from './fault.ts';
import { kafkaFaults } from './kafka-faults.ts';
import { operationFaults } from './operation-faults.ts';
import { processFaults } from './process-faults.ts';
import { rejectedFaults } from './rejected-faults.ts';
import { storeFaults } from './store-faults.ts';

export const allFaults: readonly Fault[] = [
  ...processFaults,
  ...storeFaults,
  ...kafkaFaults,
  ...rejectedFaults,
  ...operationFaults,
];

/** The checker takes what comes within 15 s of a fault for its doing. */
const quietMs = 25_000;

interface NemesisOptions {
  seed: number;
  /** Waits until all is well again, but not for ever. */
  isWell(): Promise<void>;
  /**
   * The machine has nothing else to do: a fault ends once it is undone, and there is time without one. Else it ends once all is
   * well again, because how long that takes says nothing there.
   */
  isQuiet: boolean;
}

/** Does faults to an arena, by the schedule of a seed. */
export class Nemesis {
  readonly #arena: Arena;
  readonly #faults: ReadonlyMap<string, Fault>;
  readonly #steps: Generator<Step>;
  readonly #random: Random;
  readonly #options: NemesisOptions;
  /** What is being done to each target: the next fault of it waits. */
  readonly #busy = new Map<string, Promise<void>>();
  #ids = 0;
  /** How often each fault came alone, and each pair within five seconds. */
  readonly alone = new Map<string, number>();
  readonly together = new Map<string, number>();
  /** Faults that could not be done, or undone. */
  readonly failures: string[] = [];

  constructor(arena: Arena, faults: readonly Fault[], options: NemesisOptions) {
    this.#arena = arena;
    this.#faults = new Map(faults.map((fault) => [fault.name, fault]));
    this.#steps = schedule([...this.#faults.keys()], options.seed);
    this.#random = new Random(options.seed, 2);
    this.#options = options;
  }

  /** Steps until the time is over, each after all is well again. */
  async run(untilMs: number): Promise<void> {
    while (nowMs() < untilMs) {
      const { names, lagMs }: Step = this.#steps.next().value;
      const [one, other] = names.map((name) => this.#faults.get(name)!);
      const doing = [this.#do(one!)];
      if (other) {
        await sleep(lagMs);
        doing.push(this.#do(other));
      }
      await Promise.all(doing);
      const count = other ? this.together : this.alone;
      const name = names.toSorted().join(' + ');
      count.set(name, (count.get(name) ?? 0) + 1);
      await this.#options.isWell();
      await sleep(this.#options.isQuiet ? quietMs : pairWithinMs);
    }
  }

  async #do({ name, ready }: Fault): Promise<void> {
    const { targets, run } = ready(this.#arena, this.#random);
    await Promise.all(targets.map((target) => this.#busy.get(target)));
    const { history } = this.#arena;
    const event = { type: 'fault', id: this.#ids++, name, targets } as const;
    history.add({ ...event, state: 'begin' });
    console.log(`${(nowMs() / 1_000).toFixed(1)} s  ${name}: ${targets.join(', ')}`);
    const done = run().catch((error: Error) => {
      this.failures.push(`${name} of ${targets.join(', ')}: ${error.message}`);
      console.error(this.failures.at(-1));
    });
    for (const target of targets) this.#busy.set(target, done);
    await done;
    if (!this.#options.isQuiet) await this.#options.isWell();
    history.add({ ...event, state: 'end' });
  }
}

/** One fault, or one and soon after it another. */
interface Step {
  names: [string] | [string, string];
  /** How long after the first the second begins, in ms. */
  lagMs: number;
}

/** Two faults are a pair if one begins at most so long after the other has begun, or ended. */
const pairWithinMs = 5_000;

/**
 * What a nemesis does, step by step, without an end: faults alone and in pairs by turns, each round of either in an order of
 * its own. The same seed and names make the same schedule.
 */
function* schedule(names: readonly string[], seed: number): Generator<Step, never> {
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
