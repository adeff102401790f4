import { circleSize, sampleCircle, sampleRider } from './founding.ts';
import type { Random } from './random.ts';
import { blocked, type SimRide, type World } from './world.ts';

/** The riders who will respond to a night, each once. */
export function attendeesOf(world: World, random: Random, night: number): number[] {
  const { ride: rideIndex, day } = world.nights[night]!;
  const ride = world.rides[rideIndex]!;
  const riders = new Set<number>();
  if (ride.metro === 0 && Math.abs(day - world.options.today) <= 30) addCircle(world, random, riders);
  const wanted = Math.round(ride.expected * (0.6 + 0.8 * random.unit()));
  // A ride's regulars run out. Then a few draws find nobody new.
  for (let tries = wanted * 2; tries > 0 && riders.size < wanted; tries--) {
    const rider = drawRider(world, random, ride);
    if (rider === null) break;
    riders.add(rider);
    if (random.chance(0.25)) addFriend(world, random, rider, riders);
  }
  return [...riders];
}

/** Adds the sample rider's circle, on enough nights of the first metro that every answer about it has content. */
function addCircle(world: World, random: Random, riders: Set<number>): void {
  const share: [number, number][] = [
    [sampleRider, 0.3],
    ...sampleCircle.friends.map((friend): [number, number] => [friend, 0.2]),
    [sampleCircle.closeOnly, 0.2],
    ...sampleCircle.flagged.map((other): [number, number] => [other, 0.2]),
    [sampleCircle.blockedBy, 0.1],
  ];
  for (const [rider, chance] of share) if (rider < world.riders.length && random.chance(chance)) riders.add(rider);
}

/** A rider who might go on a ride: a regular, a neighbour, now and then a visitor. Null if nobody is left. */
export function drawRider(world: World, random: Random, ride: SimRide): number | null {
  const { riders } = world.metros[ride.metro]!;
  for (let tries = 0; tries < 20; tries++) {
    const dice = random.unit();
    const rider =
      dice < 0.55 && ride.regulars.length > 0
        ? random.pick(ride.regulars)
        : dice < 0.95 && riders.length > 0
          ? riders[random.rank(riders.length, 1.5)]!
          : random.rank(world.riders.length, 1);
    // The circle's nights are dealt out above.
    if (!world.riders[rider]!.erased && (rider >= circleSize || world.riders.length <= circleSize)) return rider;
  }
  return null;
}

function addFriend(world: World, random: Random, rider: number, riders: Set<number>): void {
  const { relations } = world.riders[rider]!;
  if (relations.length === 0) return;
  const packed = random.pick(relations);
  const friend = packed >> 4;
  if (!(packed & blocked) && !world.riders[friend]!.erased && friend >= circleSize) riders.add(friend);
}
