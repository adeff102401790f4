import { attendeesOf, drawRider } from './attendance.ts';
import { addRide, addRider, chooseRegulars, circleSize, knownRider, relationBits } from './founding.ts';
import {
  announceNight,
  cancelNight,
  deleteKey,
  eraseRider,
  type Happening,
  moveMeeting,
  moveRide,
  payOwed,
  postRide,
  reinstateNight,
  removeNight,
  renameDistrict,
  renameMetro,
  renameRide,
  renameRider,
  settleNight,
  withdraw,
} from './happenings.ts';
import { changeOfHeart, newKey } from './history.ts';
import { Random } from './random.ts';
import { confirmedResponse, goingResponse, meetsOn, noneResponse, type World } from './world.ts';

/** A kind of change: how often it happens, in parts, and what it publishes; nothing where there is no occasion. */
type Change = [parts: number, happen: (world: World, random: Random, today: number) => Happening];

const changes: readonly Change[] = [
  [460, respond],
  [100, thinkAgain],
  [80, save],
  [120, confirm],
  [60, relate],
  [30, changeOfHeart],
  [30, (world) => payOwed(world, 3)],
  [20, onComingNight(moveMeeting)],
  [15, onComingNight((world, _, night) => settleNight(world, night))],
  [12, onComingNight((world, random, night) => cancelNight(world, random, night, random.chance(0.7)))],
  [9, onComingNight((world, _, night) => reinstateNight(world, night))],
  [2, onComingNight((world, _, night) => removeNight(world, night))],
  [20, (world, random) => renameRider(world, random, random.rank(world.riders.length, 1))],
  [15, join],
  [1, leave],
  [8, oneOff],
  [5, onRide(renameRide)],
  [3, onRide(moveRide)],
  [3, onRide((world, random, ride) => postRide(world, ride, random.chance(0.7)))],
  [2, (world, random) => renameDistrict(world, random.rank(world.districts.length, 1))],
  [1, (world, random) => renameMetro(world, random.rank(world.metros.length, 1))],
  [1, newKey],
  [2, (world, random) => deleteKey(world, random.int(Math.min(2, world.keys.length - 1), world.keys.length - 1))],
];

/**
 * Changes to the calendar without end, mostly RSVPs. `todayOf` returns the current day. Each new day first announces
 * its nights.
 */
export function* ongoingChanges(world: World, todayOf: () => number): Happening {
  const random = new Random(world.options.seed, 7);
  const total = changes.reduce((sum, [parts]) => sum + parts, 0);
  let today = world.options.today;
  yield* announceDay(world, today + world.aheadDays);
  for (;;) {
    for (const now = todayOf(); today < now; today++) yield* announceDay(world, today + 1 + world.aheadDays);
    yield* draw(random.unit() * total)(world, random, today);
  }
}

function draw(dice: number): Change[1] {
  let rest = dice;
  for (const [parts, happen] of changes) {
    if (rest < parts) return happen;
    rest -= parts;
  }
  return respond;
}

function* announceDay(world: World, day: number): Happening {
  // A night that nobody looks at any more is removed. Otherwise the world would grow forever.
  const old = day - world.aheadDays - 2 * world.options.days - 30;
  for (const night of world.nightsByDay.get(old) ?? []) world.nights[night]!.attendance = [];
  world.nightsByDay.delete(old);
  for (const [index, ride] of world.rides.entries()) {
    if (meetsOn(ride, day)) yield* announceNight(world, index, day);
  }
}

/** A night that still exists, mostly of one of the next few days. Null if that day has none. */
function comingNight(world: World, random: Random, today: number): number | null {
  const day = today + Math.min(Math.floor(random.exponential(6)), world.aheadDays);
  return nightOf(world, random, day);
}

function nightOf(world: World, random: Random, day: number): number | null {
  const nights = world.nightsByDay.get(day);
  if (!nights) return null;
  const night = random.pick(nights);
  return world.nights[night]!.removed ? null : night;
}

function onComingNight(happen: (world: World, random: Random, night: number) => Happening): Change[1] {
  return function* (world, random, today) {
    const night = comingNight(world, random, today);
    if (night !== null) yield* happen(world, random, night);
  };
}

function onRide(happen: (world: World, random: Random, ride: number, today: number) => Happening): Change[1] {
  return function* (world, random, today) {
    // The sample rider's own ride stays as it is.
    if (world.rides.length > 1) yield* happen(world, random, random.int(1, world.rides.length - 1), today);
  };
}

function* respond(world: World, random: Random, today: number): Happening {
  const night = comingNight(world, random, today);
  if (night === null) return;
  const rider = drawRider(world, random, world.rides[world.nights[night]!.ride]!);
  if (rider !== null) yield world.attendance(night, rider, goingResponse, random.chance(0.1));
}

function* thinkAgain(world: World, random: Random, today: number): Happening {
  const night = comingNight(world, random, today);
  const { attendance } = night === null ? { attendance: [] } : world.nights[night]!;
  if (attendance.length > 0) yield* withdraw(world, night!, random.pick(attendance) >> 3);
}

function* save(world: World, random: Random, today: number): Happening {
  const night = comingNight(world, random, today);
  if (night === null) return;
  const rider = drawRider(world, random, world.rides[world.nights[night]!.ride]!);
  if (rider === null) return;
  const at = world.rsvpAt(night, rider);
  const packed = world.nights[night]!.attendance[at] ?? noneResponse;
  yield world.attendance(night, rider, (packed >> 1) & 3, !(packed & 1), at);
}

/** A rider confirms that they were there, on one of the last days. */
function* confirm(world: World, random: Random, today: number): Happening {
  const night = nightOf(world, random, today - 1 - Math.floor(random.exponential(2)));
  const attendance = night === null ? [] : world.nights[night]!.attendance;
  if (night === null || attendance.length === 0) return;
  const at = random.rank(attendance.length, 1);
  const packed = attendance[at]!;
  yield world.attendance(night, packed >> 3, confirmedResponse, (packed & 1) === 1, at);
}

function* relate(world: World, random: Random): Happening {
  const rider = random.int(0, world.riders.length - 1);
  if (rider < circleSize || world.riders[rider]!.erased) return;
  const other = knownRider(world, random, rider);
  if (other !== rider && !world.riders[other]!.erased) yield world.relation(rider, other, relationBits(random));
}

function* join(world: World, random: Random): Happening {
  yield world.rider(addRider(world, random));
}

function* leave(world: World, random: Random): Happening {
  const rider = random.rank(world.riders.length, 1);
  if (rider >= circleSize) yield* eraseRider(world, rider, random.chance(0.5));
}

/** A rider posts a ride for one of the next days, and some respond. */
function* oneOff(world: World, random: Random, today: number): Happening {
  const index = addRide(world, random);
  const ride = world.rides[index]!;
  ride.periodDays = null;
  ride.firstDay = today + random.int(1, Math.max(1, Math.min(14, world.aheadDays)));
  ride.expected = Math.min(3, world.metros[ride.metro]!.riders.length);
  chooseRegulars(world, random, ride);
  yield world.ride(index);
  const night = world.nights.length;
  yield* announceNight(world, index, ride.firstDay);
  for (const rider of attendeesOf(world, random, night)) yield world.attendance(night, rider, goingResponse, false);
}
