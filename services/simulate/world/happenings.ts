import { dayText } from '../../../schemas/views/days.ts';
import { addKey, addRide, addRider, circleShares, circleSize, knownRider, relationBits } from './founding.ts';
import type { Random } from './random.ts';
import { cancellationReason, riderName } from './texts.ts';
import { confirmedResponse, goingResponse, meetsOn, noneResponse, type Records, type World } from './world.ts';

/** Something that happens on a day. It yields no record if there is no occasion. */
type Happen = (world: World, random: Random, today: number) => Records;

/** What happens, and how often: times a day for each thousand riders or rides, or times in a thousand days. */
const happenings: readonly [times: number, per: 'riders' | 'rides' | 'days', happen: Happen][] = [
  [300, 'riders', onComingNight(respond)],
  [30, 'riders', onComingNight(thinkAgain)],
  [12, 'riders', relate],
  [3, 'riders', renameRider],
  [15, 'rides', onComingNight(callOff)],
  [3, 'rides', onComingNight(removeNight)],
  [3, 'rides', oneOff],
  [8, 'rides', onRide(postOrWithdraw)],
  [200, 'days', leave],
  [50, 'days', replaceKey],
];

/** How much happens in a day in a world of these sizes, and one thing at random. */
export function happeningsOf({ riders, rides }: World['options']) {
  const thousands = { riders: riders / 1_000, rides: rides / 1_000, days: 1 / 1_000 };
  const rates = happenings.map(([times, per, happen]) => ({ rate: times * thousands[per], happen }));
  const total = rates.reduce((sum, { rate }) => sum + rate, 0);
  return {
    perDay: Math.ceil(total),
    draw(random: Random): Happen {
      let rest = random.unit() * total;
      for (const { rate, happen } of rates) {
        rest -= rate;
        if (rest < 0) return happen;
      }
      return rates[0]!.happen;
    },
  };
}

/** Everything once, so that even a small world has all of it. */
export function* oneOfEach(world: World, random: Random, today: number): Records {
  for (const [, , happen] of happenings) yield* happen(world, random, today);
}

/** A day begins: the nights of one more day are announced, and riders confirm that they were there yesterday. */
export function* newDay(world: World, random: Random, day: number): Records {
  yield* announceDay(world, random, day + world.aheadDays);
  for (const night of world.nightsByDay.get(day - 1) ?? []) {
    const { attendance, record } = world.nights[night]!;
    if (record.status === 'CANCELLED') continue;
    for (const [at, packed] of attendance.entries()) {
      if (((packed >> 1) & 3) !== goingResponse || !random.chance(0.7)) continue;
      yield world.attendance(night, packed >> 3, confirmedResponse, (packed & 1) === 1, at);
    }
  }
  // A night that nobody looks at any more is forgotten. Otherwise the world would grow forever.
  const old = day - world.options.days - 30;
  for (const night of world.nightsByDay.get(old) ?? []) world.nights[night]!.attendance = [];
  world.nightsByDay.delete(old);
}

export function* announceDay(world: World, random: Random, day: number): Records {
  for (const [index, ride] of world.rides.entries()) if (meetsOn(ride, day)) yield* announce(world, random, index, day);
}

/** Adds a night of a ride, as its leaders announce it. At first it may lack its time and place. */
function* announce(world: World, random: Random, ride: number, day: number): Records {
  const { record, meetTimeMs, meeting, metro } = world.rides[ride]!;
  const count = world.nights.length;
  const late = count % 17 === 3;
  const night = world.addNight({
    record: {
      ride: record.ride,
      day,
      meet_time: late ? null : meetTimeMs,
      status: 'ON',
      cancellation_reason: null,
      meeting: late || count % 40 === 11 ? null : meeting,
      url: `${record.url}/${dayText(day)}`,
    },
    ride,
    removed: false,
    attendance: [],
    riders: world.metros[metro]!.riders.length,
    asked: 0,
  });
  yield world.publish('nights', night);
  if (metro !== 0) return;
  // The sample rider's circle goes to enough nights of the first metro that every answer about it has content.
  for (const [rider, share] of circleShares.entries()) {
    if (rider >= world.riders.length || !random.chance(share)) continue;
    yield world.attendance(night, rider, random.chance(0.2) ? noneResponse : goingResponse, random.chance(0.3));
  }
}

/** Something that happens to one night, or to one ride. */
type HappenTo = (world: World, random: Random, index: number) => Records;

/** On a night of the next days, more often on a popular one. */
function onComingNight(happen: HappenTo): Happen {
  return function* (world, random, today) {
    const nights = world.nightsByDay.get(today + random.rank(world.aheadDays + 1, 4));
    const night = nights?.[random.rank(nights.length, 2)];
    if (night !== undefined && !world.nights[night]!.removed) yield* happen(world, random, night);
  };
}

/**
 * The next riders of the ride's metro respond. Each ride begins elsewhere in the list, so it has regulars, and nobody
 * is asked twice. Once all were asked, one of them thinks again.
 */
function* respond(world: World, random: Random, night: number): Records {
  const state = world.nights[night]!;
  const ride = world.rides[state.ride]!;
  state.asked += random.int(1, 3);
  if (state.asked > state.riders) return yield* thinkAgain(world, random, night);
  const rider = world.metros[ride.metro]!.riders[(ride.firstRegular + state.asked) % state.riders];
  if (rider === undefined || rider < circleSize || world.riders[rider]!.erased) return;
  const saved = random.chance(0.25);
  yield world.attendance(night, rider, saved && random.chance(0.5) ? noneResponse : goingResponse, saved);
}

/** A rider withdraws or comes after all, or saves the night, or does not save it any more. */
function* thinkAgain(world: World, random: Random, night: number): Records {
  const { attendance } = world.nights[night]!;
  const at = random.int(0, attendance.length - 1);
  const packed = attendance[at];
  if (packed === undefined || packed >> 3 < circleSize) return;
  const response = (packed >> 1) & 3;
  const other = response === noneResponse ? goingResponse : noneResponse;
  const saved = (packed & 1) === 1;
  if (random.chance(0.6)) yield world.attendance(night, packed >> 3, other, saved, at);
  else yield world.attendance(night, packed >> 3, response, !saved, at);
}

/** A rider follows another, stops following, or changes a mark. The circle of the sample rider stays as it is. */
function* relate(world: World, random: Random): Records {
  const rider = random.int(0, world.riders.length - 1);
  const { erased, relations } = world.riders[rider]!;
  if (erased || rider < circleSize) return;
  const isNew = relations.length === 0 || random.chance(0.6);
  const other = isNew ? knownRider(world, random, rider) : random.pick(relations) >> 4;
  if (other === rider || world.riders[other]!.erased) return;
  yield world.relation(rider, other, isNew || random.chance(0.6) ? relationBits(random) : 0);
}

/** A rider has a new display name, or also a new handle. */
function* renameRider(world: World, random: Random): Records {
  const rider = random.int(0, world.riders.length - 1);
  const { erased, record } = world.riders[rider]!;
  if (erased) return;
  const { handle, name } = riderName(random, rider);
  record.name = name;
  if (random.chance(0.3)) record.handle = handle;
  yield world.publish('riders', rider);
}

/** A night is cancelled, or held after all. Upstream keeps the reason then, but only a cancelled night's counts. */
function* callOff(world: World, random: Random, night: number): Records {
  const { record, ride } = world.nights[night]!;
  const { language } = world.metros[world.rides[ride]!.metro]!.sketch;
  const cancelled = record.status === 'ON';
  record.status = cancelled ? 'CANCELLED' : 'ON';
  if (cancelled) record.cancellation_reason = random.chance(0.7) ? cancellationReason(random, language) : null;
  yield world.publish('nights', night);
}

function* removeNight(world: World, _random: Random, night: number): Records {
  const state = world.nights[night]!;
  state.removed = true;
  yield world.tombstone('nights', world.nightKey(night));
  for (const packed of state.attendance) yield world.tombstone('attendance', world.attendanceKey(night, packed >> 3));
  state.attendance = [];
}

/** Somebody joins, and posts a ride for one of the next days. Some respond. */
function* oneOff(world: World, random: Random, today: number): Records {
  const rider = addRider(world, random);
  yield world.publish('riders', rider);
  const index = addRide(world, random);
  const ride = world.rides[index]!;
  ride.record.leaders = [world.riderId(rider)];
  ride.periodDays = null;
  ride.firstDay = today + random.int(1, Math.max(1, Math.min(14, world.aheadDays)));
  yield world.publish('rides', index);
  const night = world.nights.length;
  yield* announce(world, random, index, ride.firstDay);
  for (let i = 0; i < 4; i++) yield* respond(world, random, night);
}

/** Something that happens to a ride, but not to the sample rider's own. */
function onRide(happen: HappenTo): Happen {
  return function* (world, random) {
    if (world.rides.length > 1) yield* happen(world, random, random.int(1, world.rides.length - 1));
  };
}

function* postOrWithdraw(world: World, random: Random, ride: number): Records {
  const { record } = world.rides[ride]!;
  if (record.posted && random.chance(0.7)) return;
  record.posted = !record.posted;
  yield world.publish('rides', ride);
}

/** A rider is erased, and then everything that names them. */
function* leave(world: World, random: Random): Records {
  const rider = random.int(0, world.riders.length - 1);
  const state = world.riders[rider]!;
  if (state.erased || rider < circleSize) return;
  state.erased = true;
  const id = world.riderId(rider);
  yield world.tombstone('riders', id);
  for (const [index, { record }] of world.rides.entries()) {
    if (!record.leaders.includes(id)) continue;
    record.leaders = record.leaders.filter((leader) => leader !== id);
    yield world.publish('rides', index);
  }
  for (const packed of state.relations) yield world.tombstone('relations', world.relationKey(rider, packed >> 4));
  state.relations = [];
  for (const [index, { relations }] of world.riders.entries()) {
    if (takeOut(relations, 4, rider)) yield world.tombstone('relations', world.relationKey(index, rider));
  }
  for (const [index, { attendance }] of world.nights.entries()) {
    if (takeOut(attendance, 3, rider)) yield world.tombstone('attendance', world.attendanceKey(index, rider));
  }
}

/** Removes the only entry about a rider from a packed list. False if there is none. */
function takeOut(list: number[], shift: number, rider: number): boolean {
  const at = list.findIndex((packed) => packed >> shift === rider);
  return at >= 0 && list.splice(at, 1).length > 0;
}

/** A developer makes a key, and deletes an old one: not the key that `simulate` prints. */
function* replaceKey(world: World, random: Random): Records {
  const keys = world['developer-keys'];
  const old = keys[random.int(1, keys.length - 1)]!;
  yield world.publish('developer-keys', addKey(world));
  if (!old.live) return;
  old.live = false;
  yield world.tombstone('developer-keys', old.record.key_id);
}
