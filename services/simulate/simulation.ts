import { ongoingChanges } from './changes.ts';
import { keyText, riderId, sampleRider } from './founding.ts';
import { history } from './history.ts';
import { dayMs, dayStartMs, type SimulatedRecord, type SimulationOptions, World } from './world.ts';

/**
 * Increase this with every change to the records that the same options make, or to their partitions. Existing samples
 * are then made again.
 */
export const generatorVersion = 2;

export interface Simulation {
  /** The records of the calendar as it is when `today` begins. Consume it to the end, once, before `changes`. */
  initial(progress?: (done: number) => void): Iterable<SimulatedRecord>;
  /**
   * What happens after that, without end. `clock` gives milliseconds since the epoch, and is called once per record.
   */
  changes(clock: () => number): Iterable<SimulatedRecord>;
  /** How many of each exist as of the last record: not erased, not removed. */
  size(): Record<'metro' | 'ride' | 'night' | 'rider', number>;
  /** The text of a developer key that stays live. The log has only its hash. It can be computed from the seed. */
  developerKey: string;
  /** The id of a rider with nights, friends and flags around today. */
  rider: string;
}

/** A made-up calendar: the same options give the same records, byte for byte. */
export function simulation(options: SimulationOptions): Simulation {
  const world = new World(options);
  return {
    initial: (progress = () => {}) => history(world, progress),
    changes(clock) {
      let last = dayStartMs(options.today) - lastHourMs;
      world.clock = () => {
        last = Math.max(last, Math.floor(clock()));
        return last;
      };
      return ongoingChanges(world, () => Math.floor(last / dayMs));
    },
    size: () => ({
      metro: world.metros.length,
      ride: world.rides.length,
      night: world.nights.filter(({ removed }) => !removed).length,
      rider: world.riders.filter(({ erased }) => !erased).length,
    }),
    developerKey: keyText(options.seed, 0),
    rider: riderId(options.seed, sampleRider),
  };
}

const lastHourMs = 3_600_000;

/**
 * A clock for changes that must come out the same every time. They share the hour before `today` began, `stepMs` apart,
 * and never pass its end.
 */
export function steppingClock(today: number, stepMs: number): () => number {
  let count = 0;
  return () => dayStartMs(today) - lastHourMs + Math.min(lastHourMs, Math.floor(count++ * stepMs));
}
