import { meetingAt } from './founding.ts';
import { slugOf } from './metros.ts';
import type { Random } from './random.ts';
import { cancellationReason, riderName, rideTitle } from './texts.ts';
import { noneResponse, type SimNight, type SimulatedRecord, type World } from './world.ts';

/** Things that happen to a calendar, as the records that upstream would publish. */
export type Happening = Generator<SimulatedRecord, void, undefined>;

/** Adds a night of a ride, as its leaders announce it. At first it may lack its time and place. */
export function* announceNight(world: World, ride: number, day: number): Happening {
  const { meetTimeMs, meeting } = world.rides[ride]!;
  const count = world.nights.length;
  const late = count % 17 === 3;
  const night: SimNight = {
    ride,
    day,
    meetTimeMs: late ? null : meetTimeMs,
    status: 'ON',
    cancellation_reason: null,
    meeting: late || count % 40 === 11 ? null : meeting,
    removed: false,
    attendance: [],
  };
  yield world.night(world.addNight(night));
}

export function* settleNight(world: World, night: number): Happening {
  const state = world.nights[night]!;
  if (state.removed) return;
  const { meetTimeMs, meeting } = world.rides[state.ride]!;
  state.meetTimeMs = meetTimeMs;
  state.meeting = meeting;
  yield world.night(night);
}

export function* cancelNight(world: World, random: Random, night: number, withReason: boolean): Happening {
  const state = world.nights[night]!;
  if (state.removed || state.status === 'CANCELLED') return;
  const { language } = world.metros[world.rides[state.ride]!.metro]!.sketch;
  state.status = 'CANCELLED';
  state.cancellation_reason = withReason ? cancellationReason(random, language) : null;
  yield world.night(night);
}

export function* reinstateNight(world: World, night: number): Happening {
  const state = world.nights[night]!;
  if (state.removed || state.status === 'ON') return;
  state.status = 'ON';
  // Upstream keeps an earlier reason. Only a cancelled night's reason counts.
  yield world.night(night);
}

/** Removes a night and its RSVPs. */
export function* removeNight(world: World, night: number): Happening {
  const state = world.nights[night]!;
  if (state.removed) return;
  state.removed = true;
  yield world.tombstone('nights', world.nightKey(night));
  for (const packed of state.attendance) {
    yield world.tombstone('attendance', world.attendanceKey(night, packed >> 3));
  }
  state.attendance = [];
}

/** Moves a ride to another metro. Its future nights meet at a place there. */
export function* moveRide(world: World, random: Random, ride: number, fromDay: number): Happening {
  const state = world.rides[ride]!;
  if (world.metros.length < 2) return;
  state.metro = (state.metro + 1) % world.metros.length;
  const district = world.districts[random.pick(world.metros[state.metro]!.districts)]!;
  state.meeting = meetingAt(random, district.name, district.slug, ride);
  yield world.ride(ride);
  yield* republishNights(world, ride, fromDay, (night) => {
    night.meeting = state.meeting;
  });
}

export function* moveMeeting(world: World, random: Random, night: number): Happening {
  const state = world.nights[night]!;
  if (state.removed) return;
  const { districts } = world.metros[world.rides[state.ride]!.metro]!;
  const district = world.districts[random.pick(districts)]!;
  state.meeting = random.chance(0.1) ? null : meetingAt(random, district.name, district.slug, random.int(0, 21));
  yield world.night(night);
}

function* republishNights(world: World, ride: number, fromDay: number, change: (night: SimNight) => void): Happening {
  for (const [day, nights] of world.nightsByDay) {
    if (day < fromDay) continue;
    for (const index of nights) {
      const night = world.nights[index]!;
      if (night.ride !== ride || night.removed) continue;
      change(night);
      yield world.night(index);
    }
  }
}

export function* renameRide(world: World, random: Random, ride: number): Happening {
  const state = world.rides[ride]!;
  const { sketch, districts } = world.metros[state.metro]!;
  state.title = rideTitle(random, sketch.language, world.districts[random.pick(districts)]!.name);
  yield world.ride(ride);
}

export function* postRide(world: World, ride: number, posted: boolean): Happening {
  const state = world.rides[ride]!;
  if (state.posted === posted) return;
  state.posted = posted;
  yield world.ride(ride);
}

/** Gives a rider a new display name, or also a new handle. */
export function* renameRider(world: World, random: Random, rider: number): Happening {
  const state = world.riders[rider]!;
  if (state.erased) return;
  const { handle, name } = riderName(random, rider);
  state.name = name;
  if (random.chance(0.3)) state.handle = handle;
  yield world.rider(rider);
}

export function* renameDistrict(world: World, district: number): Happening {
  const state = world.districts[district]!;
  const { sketch } = world.metros[state.metro]!;
  const old = [...sketch.districts, ...sketch.cities].find((name) => `${sketch.slug}-${slugOf(name)}` === state.slug)!;
  // The slug stays, because it identifies the district.
  state.name = state.name === old ? `Old ${old}` : old;
  yield world.district(district);
}

/** Gives a metro another name, or its first one back. */
export function* renameMetro(world: World, metro: number): Happening {
  const state = world.metros[metro]!;
  state.name = state.name === state.sketch.name ? `Greater ${state.sketch.name}` : state.sketch.name;
  yield world.metro(metro);
}

export function* deleteKey(world: World, key: number): Happening {
  const state = world.keys[key]!;
  if (!state.live) return;
  state.live = false;
  yield world.tombstone('developer-keys', state.id);
}

/**
 * Erases a rider: removes their record, and then everything that names them, at once or, if upstream `owe`s it, some
 * time later.
 */
export function* eraseRider(world: World, rider: number, owe: boolean): Happening {
  const state = world.riders[rider]!;
  if (state.erased) return;
  const rest = traces(world, rider);
  state.erased = true;
  state.relations = [];
  yield world.tombstone('riders', state.id);
  for (const index of world.rides.keys()) {
    const ride = world.rides[index]!;
    if (!ride.leaders.includes(rider)) continue;
    ride.leaders = ride.leaders.filter((leader) => leader !== rider);
    yield world.ride(index);
  }
  if (owe) world.owed.push(...rest);
  else for (const { topic, key } of rest) yield world.tombstone(topic, key);
}

/** Keys of the relations and RSVPs that name a rider. Removes the rider from them. */
function traces(world: World, rider: number): World['owed'] {
  const found: World['owed'] = [];
  for (const packed of world.riders[rider]!.relations) {
    found.push({ topic: 'relations', key: world.relationKey(rider, packed >> 4) });
  }
  for (const [index, { relations }] of world.riders.entries()) {
    if (takeOut(relations, 4, rider) !== null) found.push({ topic: 'relations', key: world.relationKey(index, rider) });
  }
  for (const [index, { attendance }] of world.nights.entries()) {
    if (takeOut(attendance, 3, rider) !== null) {
      found.push({ topic: 'attendance', key: world.attendanceKey(index, rider) });
    }
  }
  return found;
}

/** Removes the only entry about a rider from a packed list. Null if there is none. */
function takeOut(list: number[], shift: number, rider: number): number | null {
  const at = list.findIndex((packed) => packed >> shift === rider);
  return at < 0 ? null : list.splice(at, 1)[0]!;
}

export function* payOwed(world: World, count: number): Happening {
  for (const { topic, key } of world.owed.splice(0, count)) yield world.tombstone(topic, key);
}

/** A rider withdraws their RSVP, if there is one. */
export function* withdraw(world: World, night: number, rider: number): Happening {
  const packed = world.nights[night]!.attendance.find((rsvp) => rsvp >> 3 === rider);
  if (packed !== undefined) yield world.attendance(night, rider, noneResponse, (packed & 1) === 1);
}
