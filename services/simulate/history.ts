import { attendeesOf } from './attendance.ts';
import { addKey, circleSize, foundWorld, relationBits } from './founding.ts';
import {
  announceNight,
  cancelNight,
  deleteKey,
  eraseRider,
  type Happening,
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
import { Random } from './random.ts';
import {
  confirmedResponse,
  dayMs,
  dayStartMs,
  goingResponse,
  meetsOn,
  noneResponse,
  type SimulatedRecord,
  type World,
} from './world.ts';

/** The last hour before `today` is left for the changes that follow. */
const lastHourMs = 3_600_000;

/** Something that happens at a time of a day, 0 to 1. */
interface Entry {
  at: number;
  happen(): Happening;
}

/**
 * The calendar's past, up to an hour before `today` begins: first everything that is founded, then day by day what is
 * announced, responded to, called off and erased. `progress` is called with the share done, 0 to 1.
 */
export function* history(world: World, progress: (done: number) => void): Happening {
  foundWorld(world);
  const { today } = world.options;
  const diary = new Diary(world);
  yield* publishFounding(world, diary);
  planRareDays(world, diary);
  for (let day = world.firstDay; day < today; day++) {
    progress(1 - (today - day) / (today - world.firstDay + 1));
    const length = day === today - 1 ? dayMs - lastHourMs : dayMs;
    for (const { at, happen } of diary.of(day)) {
      world.clock = () => Math.floor(dayStartMs(day) + at * length);
      yield* happen();
    }
  }
  progress(1);
}

/** Publishes what was founded, in the year before the calendar's first day, and the nights announced by then. */
function* publishFounding(world: World, diary: Diary): Happening {
  const endMs = dayStartMs(world.firstDay);
  const startMs = endMs - 300 * dayMs;
  function* during(
    from: number,
    to: number,
    count: number,
    publish: (i: number) => Iterable<SimulatedRecord>,
  ): Happening {
    for (let i = 0; i < count; i++) {
      const ms = Math.floor(startMs + (from + ((to - from) * i) / count) * (endMs - startMs));
      world.clock = () => ms;
      yield* publish(i);
    }
  }
  const { metros, districts, keys, riders, rides } = world;
  yield* during(0, 0.01, metros.length, (i) => [world.metro(i)]);
  yield* during(0.01, 0.02, districts.length, (i) => [world.district(i)]);
  yield* during(0.02, 0.03, keys.length, (i) => [world.key(i)]);
  yield* during(0.03, 0.6, riders.length, (i) => [world.rider(i)]);
  yield* during(0.6, 0.8, rides.length, (i) => [world.ride(i)]);
  yield* during(0.8, 0.95, riders.length, function* (rider) {
    for (const packed of riders[rider]!.relations) yield world.relation(rider, packed >> 4, packed & 15);
  });
  yield* during(0.95, 1, world.aheadDays, (i) => diary.announce(world.firstDay + i));
}

/** What will happen on which day. It is filled as nights are announced. */
class Diary {
  readonly #world: World;
  readonly #random: Random;
  /** RSVPs to make, by day, packed as `(night 2^24 + rider) 4 + kind`: millions of them fit. */
  readonly #rsvps = new Map<number, number[]>();
  readonly #entries = new Map<number, Entry[]>();

  constructor(world: World) {
    this.#world = world;
    this.#random = new Random(world.options.seed, 5);
  }

  add(day: number, at: number, happen: Entry['happen']): void {
    append(this.#entries, day, { at, happen });
  }

  /** Everything of a day, in order. */
  of(day: number): Entry[] {
    const random = this.#random;
    const entries = this.#entries.get(day) ?? [];
    for (const packed of this.#rsvps.get(day) ?? []) {
      entries.push({ at: 0.1 + 0.85 * random.unit(), happen: () => this.#respond(packed) });
    }
    entries.push({ at: 0.05, happen: () => this.announce(day + this.#world.aheadDays) });
    entries.push({ at: 0.5, happen: () => this.#confirm(day - 1) });
    this.#entries.delete(day);
    this.#rsvps.delete(day);
    return entries.sort((a, b) => a.at - b.at);
  }

  /** Announces the nights of a day, and plans their RSVPs and changes. */
  *announce(day: number): Happening {
    const { rides } = this.#world;
    for (let ride = 0; ride < rides.length; ride++) {
      if (!meetsOn(rides[ride]!, day)) continue;
      const night = this.#world.nights.length;
      yield* announceNight(this.#world, ride, day);
      this.#planAnswers(night, day);
      this.#planChanges(night, day);
    }
  }

  #planAnswers(night: number, day: number): void {
    const random = this.#random;
    const { today } = this.#world.options;
    const earliest = this.#firstDayFor(day);
    for (const rider of attendeesOf(this.#world, random, night)) {
      const circle = rider < circleSize;
      // The circle's RSVPs are in by now, whatever the night.
      const wished = day - Math.floor(circle ? 14 : random.exponential(6));
      const on = Math.max(earliest, circle ? Math.min(wished, today - 1) : wished);
      if (on >= today) continue;
      const kind = random.chance(0.12) ? savedKind : random.chance(0.15) ? savedGoingKind : goingKind;
      this.#plan(on, night, rider, kind);
      if (kind !== savedKind && on < day && random.chance(0.06)) {
        this.#plan(random.int(on + 1, day), night, rider, withdrawKind);
      }
    }
  }

  /** The first day on which anything can happen to a night: the day after it was announced. */
  #firstDayFor(day: number): number {
    return Math.max(this.#world.firstDay, day - this.#world.aheadDays + 1);
  }

  #plan(day: number, night: number, rider: number, kind: number): void {
    append(this.#rsvps, day, (night * 0x100_0000 + rider) * 4 + kind);
  }

  *#respond(packed: number): Happening {
    const kind = packed % 4;
    const rider = Math.floor(packed / 4) % 0x100_0000;
    const night = Math.floor(packed / 0x400_0000);
    if (this.#world.riders[rider]!.erased || this.#world.nights[night]!.removed) return;
    if (kind === withdrawKind) yield* withdraw(this.#world, night, rider);
    else {
      const response = kind === savedKind ? noneResponse : goingResponse;
      // A rider responds once, so the list is not searched.
      const end = this.#world.nights[night]!.attendance.length;
      yield this.#world.attendance(night, rider, response, kind !== goingKind, end);
    }
  }

  /** The morning after: most riders who went confirm it. */
  *#confirm(day: number): Happening {
    for (const night of this.#world.nightsByDay.get(day) ?? []) {
      const { attendance, status } = this.#world.nights[night]!;
      if (status === 'CANCELLED') continue;
      for (let i = 0; i < attendance.length; i++) {
        const packed = attendance[i]!;
        if (((packed >> 1) & 3) !== goingResponse || !this.#random.chance(0.7)) continue;
        yield this.#world.attendance(night, packed >> 3, confirmedResponse, (packed & 1) === 1, i);
      }
    }
  }

  /** Plans changes of every 17th, 25th or 97th night: by number, not at random, so that any sample has all of them. */
  #planChanges(night: number, day: number): void {
    const random = this.#random;
    const firstDay = this.#firstDayFor(day);
    const lastDay = Math.min(day, this.#world.options.today - 1);
    if (lastDay < firstDay) return;
    const some = (): number => random.int(firstDay, lastDay);
    if (night % 17 === 3) this.add(some(), 0.08, () => settleNight(this.#world, night));
    if (night % 25 === 7) {
      const turn = Math.floor(night / 25);
      const on = some();
      this.add(on, 0.6, () => cancelNight(this.#world, random, night, turn % 3 !== 0));
      if (turn % 4 === 1) this.add(Math.min(on + 1, lastDay), 0.9, () => reinstateNight(this.#world, night));
    }
    if (night % 97 === 50) this.add(some(), 0.3, () => removeNight(this.#world, night));
  }
}

const goingKind = 0;
const savedKind = 1;
const savedGoingKind = 2;
const withdrawKind = 3;

function append<T>(lists: Map<number, T[]>, day: number, item: T): void {
  const list = lists.get(day);
  if (list) list.push(item);
  else lists.set(day, [item]);
}

/** Plans what happens rarely, spread over the past days. */
function planRareDays(world: World, diary: Diary): void {
  const random = new Random(world.options.seed, 6);
  const { today, riders: riderCount } = world.options;
  const past = today - world.firstDay;
  if (past < 1) return;
  const spread = (count: number, at: number, happen: (i: number) => Happening): void => {
    for (let i = 0; i < count; i++) diary.add(world.firstDay + Math.floor((i * past) / count), at, () => happen(i));
  };
  planErasures(world, diary, past);
  diary.add(world.firstDay, 0.2, () => deleteKey(world, 2));
  diary.add(today - 1, 0.2, () => newKey(world));
  spread(Math.ceil(riderCount / 60), 0.25, () => renameRider(world, random, random.int(0, riderCount - 1)));
  spread(Math.ceil(riderCount / 20), 0.35, () => changeOfHeart(world, random));
  spread(Math.ceil(world.rides.length / 30), 0.45, () => renameRide(world, random, random.rank(world.rides.length, 1)));
  const otherRides = world.rides.length - 1;
  if (otherRides < 3) return;
  spread(Math.ceil(otherRides / 60), 0.55, (i) => moveRide(world, random, 1 + ((i * 31 + 1) % otherRides), today));
  spread(Math.ceil(otherRides / 60), 0.65, (i) => postRide(world, 1 + ((i * 37 + 2) % otherRides), false));
  spread(1, 0.75, () => renameDistrict(world, world.districts.length - 1));
  spread(1, 0.85, () => renameMetro(world, world.metros.length - 1));
}

/**
 * Plans erasures: of one rider in two hundred, and at least two. For the last one, upstream still owes the other
 * tombstones.
 */
function planErasures(world: World, diary: Diary, past: number): void {
  const others = world.riders.length - circleSize;
  const count = Math.min(others, 60, 2 + Math.floor(others / 200));
  for (let i = 0; i < count; i++) {
    const rider = circleSize + Math.floor((i * others) / count);
    const day = world.firstDay + Math.floor(((i + 1) * past) / (count + 1));
    const owe = i === count - 1 || i % 3 === 1;
    diary.add(day, 0.99, () => eraseRider(world, rider, owe));
    if (owe && i < count - 1)
      diary.add(Math.min(day + 1, world.options.today - 1), 0.02, () => payOwed(world, Infinity));
  }
}

export function* newKey(world: World): Happening {
  yield world.key(addKey(world));
}

/** A rider follows another, stops following, or changes a mark. */
export function* changeOfHeart(world: World, random: Random): Happening {
  const rider = random.int(0, world.riders.length - 1);
  const { erased, relations } = world.riders[rider]!;
  // The sample rider's circle stays as it is.
  if (erased || relations.length === 0 || rider < circleSize) return;
  const packed = random.pick(relations);
  yield world.relation(rider, packed >> 4, random.chance(0.4) ? 0 : relationBits(random));
}
