import { dayText, parseDay } from '../../schemas/views/days.ts';
import { foldText } from '../../schemas/views/text.ts';
import { type FactKind, type RiderKind, tagOf } from '../../schemas/views/view-keys.ts';
import { encodeView, type RiderCard } from '../../schemas/views/view-values.ts';
import { dayOf, type Facts, subjectDay, subjectOf } from '../facts/facts.ts';
import type { Interner } from '../facts/interner.ts';
import { renderDay } from './day.ts';
import { renderNight, textOrNull } from './night.ts';
import { renderRide } from './ride.ts';

/**
 * How the views of a kind are numbered. A view's number is the interned number of what it is about; a day's is made of the
 * metro's number and the day (facts.ts). The number never leaves the process: a store identifies the view by its id.
 */
export interface NumberedViews {
  /** Every view that may have to exist. */
  all(facts: Facts): Iterable<number>;
  id(facts: Facts, view: number): string;
  /** The tag of its id. */
  tag(facts: Facts, view: number): number;
  /** The number of the view with a stored id. -1 if no fact has named it. */
  find(facts: Facts, id: string): number;
}

/** A kind of view that is one key's value. */
interface ValueViews extends NumberedViews {
  /** The view's value, a pure function of the facts, without a clock. Null if the view should not exist. */
  render(facts: Facts, view: number): Buffer | null;
}

/** Views whose ids are interned. */
const interned = (ids: (facts: Facts) => Interner, all: NumberedViews['all']): NumberedViews => ({
  all,
  id: (facts, view) => ids(facts).text(view),
  tag: (facts, view) => ids(facts).tag(view),
  find: (facts, id) => ids(facts).find(id),
});

function* numbers(count: number, there: (n: number) => boolean): Generator<number> {
  for (let n = 0; n < count; n++) if (there(n)) yield n;
}

const dayId = (facts: Facts, day: number): string => `${facts.metroIds.text(subjectOf(day))}/${dayText(dayOf(day))}`;

function findDay(facts: Facts, id: string): number {
  const slash = id.lastIndexOf('/');
  const metro = facts.metroIds.find(id.slice(0, slash));
  const day = parseDay(id.slice(slash + 1));
  return metro === -1 || day === null ? -1 : subjectDay(metro, day);
}

export const valueViews: Record<FactKind, ValueViews> = {
  metro: {
    render: renderMetro,
    ...interned(
      (facts) => facts.metroIds,
      (facts) => numbers(facts.metros.length, (metro) => facts.metros[metro] != null),
    ),
  },
  key: {
    render: renderDeveloperKey,
    ...interned(
      (facts) => facts.hashIds,
      (facts) => numbers(facts.hashUses.length, (hash) => facts.hashUses[hash]! > 0),
    ),
  },
  rider: {
    render: renderRider,
    ...interned(
      (facts) => facts.riderIds,
      (facts) => numbers(facts.riders.length, (rider) => facts.riderExists(rider)),
    ),
  },
  ride: {
    render: renderRide,
    ...interned(
      (facts) => facts.rideIds,
      (facts) => numbers(facts.rides.length, (ride) => facts.rides[ride]!.record !== null),
    ),
  },
  night: {
    render: renderNight,
    ...interned(
      (facts) => facts.nightKeys,
      (facts) => numbers(facts.nightRecords.length, (night) => facts.nightRecords[night] !== null),
    ),
  },
  day: {
    render: renderDay,
    all: (facts) => facts.nightsOfDay.keys(),
    id: dayId,
    tag: (facts, day) => tagOf(dayId(facts, day)),
    find: findDay,
  },
};

/** All kinds of views. A rider's own layer is numbered by the rider (reader.ts renders it). */
export const numberedViews: Record<FactKind | RiderKind, NumberedViews> = {
  ...valueViews,
  reader: interned(
    (facts) => facts.riderIds,
    (facts) => facts.riders.keys(),
  ),
};
export const numberedKinds = Object.keys(numberedViews) as (FactKind | RiderKind)[];

const nothing = Buffer.alloc(0);

/** A metro that exists, with its zone. */
function renderMetro(facts: Facts, metro: number): Buffer | null {
  const record = facts.metros[metro];
  return record ? encodeView({ zone: record.time_zone }, null, nothing) : null;
}

/** A live developer key, by the hash of its text. It is live while any current record has the hash. */
function renderDeveloperKey(facts: Facts, hash: number): Buffer | null {
  return (facts.hashUses[hash] ?? 0) > 0 ? encodeView({}, null, nothing) : null;
}

/** The card of a rider who exists. */
function renderRider(facts: Facts, number: number): Buffer | null {
  const rider = facts.riders[number];
  if (!rider) return null;
  const name = textOrNull(rider.name);
  const card: RiderCard = { handle: rider.handle, name, sort: foldText(name ?? rider.handle) };
  return encodeView(card, null, nothing);
}
