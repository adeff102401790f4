import { foundWorld, keyText, publishFounding, riderId, sampleRider } from './founding.ts';
import { announceDay, happeningsOf, newDay, oneOfEach } from './happenings.ts';
import { Random } from './random.ts';
import { dayMs, dayStartMs, type Records, type SimulatedRecord, type SimulationOptions, World } from './world.ts';

/** Goes up with every change to the records that the same options make: existing samples are then made again. */
export const generatorVersion = 5;

export interface Simulation {
  /** The records of the calendar as it is when `today` begins. Consume it to the end, once, before `changes`. */
  initial(progress?: (done: number) => void): Iterable<SimulatedRecord>;
  /** What happens after that, without end. `clock`: milliseconds since the epoch, asked once per record. */
  changes(clock: () => number): Iterable<SimulatedRecord>;
  /** The text of a developer key that stays live. The log has only its hash. It can be computed from the seed. */
  developerKey: string;
  /** The id of a rider with nights, friends and flags around today. */
  rider: string;
}

/** The last hour before `today` is left for the changes that follow. */
const lastHourMs = 3_600_000;

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
      return ongoing(world, () => Math.floor(last / dayMs));
    },
    developerKey: keyText(options.seed, 0),
    rider: riderId(options.seed, sampleRider),
  };
}

/** The calendar's past, up to an hour before `today`: founding, then day by day. `progress`: the share done. */
function* history(world: World, progress: (done: number) => void): Records {
  const { firstDay, options } = world;
  const random = new Random(options.seed, 5);
  const { perDay, draw } = happeningsOf(options);
  foundWorld(world);
  yield* publishFounding(world);
  world.clock = () => dayStartMs(firstDay);
  for (let day = firstDay; day < firstDay + world.aheadDays; day++) yield* announceDay(world, random, day);
  for (let day = firstDay; day < options.today; day++) {
    progress((day - firstDay) / (options.today - firstDay + 1));
    const isLast = day === options.today - 1;
    const stepMs = (isLast ? dayMs - lastHourMs : dayMs) / (perDay + 2);
    const at = (step: number): void => {
      const ms = Math.floor(dayStartMs(day) + step * stepMs);
      world.clock = () => ms;
    };
    at(0);
    yield* newDay(world, random, day);
    for (let step = 1; step <= perDay; step++) {
      at(step + random.unit());
      yield* draw(random)(world, random, day);
    }
    at(perDay + 2);
    if (isLast) yield* oneOfEach(world, random, day);
  }
  progress(1);
}

/** What happens from now on, without end. `todayOf` returns the current day. */
function* ongoing(world: World, todayOf: () => number): Records {
  const random = new Random(world.options.seed, 7);
  const { draw } = happeningsOf(world.options);
  for (let today = world.options.today - 1; ; ) {
    for (const now = todayOf(); today < now; ) yield* newDay(world, random, ++today);
    yield* draw(random)(world, random, today);
  }
}

/** A clock that comes out the same each time: the hour before `today`, `stepMs` apart, never beyond its end. */
export function steppingClock(today: number, stepMs: number): () => number {
  let count = 0;
  return () => dayStartMs(today) - lastHourMs + Math.min(lastHourMs, Math.floor(count++ * stepMs));
}
