import { dayText, parseDay } from '../../schemas/views/days.ts';
import { foldText } from '../../schemas/views/text.ts';
import { tagOf } from '../../schemas/views/view-keys.ts';
import {
  dayId,
  encodeCard,
  encodeDeveloperKey,
  encodeMetro,
  type FactKind,
  type RiderKind,
} from '../../schemas/views/view-kinds.ts';
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
  tag(facts: Facts, view: number): number;
  /** The number of the view with a stored id. -1 if no fact has named it. */
  find(facts: Facts, id: string): number;
}

/** A kind of view that is one key's value. */
interface ValueViews extends NumberedViews {
  /** The view's value, a pure function of the facts, without a clock. Null if the view should not exist. */
  render(facts: Facts, view: number): Buffer | null;
}

type Ids = { [Name in keyof Facts]: Facts[Name] extends Interner ? Name : never }[keyof Facts];

const interned = (ids: Ids, all: NumberedViews['all']): NumberedViews => ({
  all,
  id: (facts, view) => facts[ids].text(view),
  tag: (facts, view) => facts[ids].tag(view),
  find: (facts, id) => facts[ids].find(id),
});

function* numbers(count: number, there: (n: number) => boolean): Generator<number> {
  for (let n = 0; n < count; n++) if (there(n)) yield n;
}

const idOfDay = (facts: Facts, day: number): string => dayId(facts.metroIds.text(subjectOf(day)), dayText(dayOf(day)));

function findDay(facts: Facts, id: string): number {
  const slash = id.lastIndexOf('/');
  const metro = facts.metroIds.find(id.slice(0, slash));
  const day = parseDay(id.slice(slash + 1));
  return metro === -1 || day === null ? -1 : subjectDay(metro, day);
}

export const valueViews: Record<FactKind, ValueViews> = {
  metro: {
    render: renderMetro,
    ...interned('metroIds', (facts) => numbers(facts.metros.length, (metro) => facts.metros[metro] != null)),
  },
  key: {
    render: renderDeveloperKey,
    ...interned('hashIds', (facts) => numbers(facts.hashUses.length, (hash) => facts.hashUses[hash]! > 0)),
  },
  rider: {
    render: renderRider,
    ...interned('riderIds', (facts) => numbers(facts.riders.length, (rider) => facts.riderExists(rider))),
  },
  ride: {
    render: renderRide,
    ...interned('rideIds', (facts) => numbers(facts.rides.length, (ride) => facts.rides[ride]!.record !== null)),
  },
  night: {
    render: renderNight,
    ...interned('nightKeys', (facts) =>
      numbers(facts.nightRecords.length, (night) => facts.nightRecords[night] !== null),
    ),
  },
  day: {
    render: renderDay,
    all: (facts) => facts.nightsOfDay.keys(),
    id: idOfDay,
    tag: (facts, day) => tagOf(idOfDay(facts, day)),
    find: findDay,
  },
};

/** All kinds of views. A rider's own layer is numbered by the rider; reader.ts renders it. */
export const numberedViews: Record<FactKind | RiderKind, NumberedViews> = {
  ...valueViews,
  reader: interned('riderIds', (facts) => facts.riders.keys()),
};
export const numberedKinds = Object.keys(numberedViews) as (FactKind | RiderKind)[];

/** A metro that exists, with its zone. */
function renderMetro(facts: Facts, metro: number): Buffer | null {
  const record = facts.metros[metro];
  return record ? encodeMetro(record.time_zone) : null;
}

/** A live developer key, by the hash of its text: live while any current record has it (docs/rules.md#developer-keys). */
function renderDeveloperKey(facts: Facts, hash: number): Buffer | null {
  return (facts.hashUses[hash] ?? 0) > 0 ? encodeDeveloperKey() : null;
}

/** The card of a rider who exists. */
function renderRider(facts: Facts, number: number): Buffer | null {
  const rider = facts.riders[number];
  if (!rider) return null;
  const name = textOrNull(rider.name);
  return encodeCard({ handle: rider.handle, name, sort: foldText(name ?? rider.handle) });
}
