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
import type { Facts } from '../facts/facts.ts';
import type { Interner } from '../facts/interner.ts';
import {
  dayOf,
  type MetroDay,
  type MetroNumber,
  type NightNumber,
  noDay,
  type RideNumber,
  type RiderNumber,
  subjectDay,
  subjectOf,
} from '../facts/numbers.ts';
import type { FieldWrite } from '../ports/view-writer.ts';
import { renderDay } from './day.ts';
import { renderNight, textOrNull } from './night.ts';
import { renderReader } from './reader.ts';
import { renderRide } from './ride.ts';

/**
 * How the views of a kind are numbered. A view's number is the interned number of what it is about; a day's is made of the
 * metro's number and the day (facts.ts). The number never leaves the process: a store identifies the view by its id.
 */
export interface NumberedViews<N = number> {
  /** Every view that may have to exist. */
  all(facts: Facts): Iterable<N>;
  id(facts: Facts, view: N): string;
  tag(facts: Facts, view: N): number;
  /** The number of the view with a stored id. -1 if no fact has named it. */
  find(facts: Facts, id: string): N;
}

/** What the number of a view is, by kind. */
export interface ViewNumbers {
  metro: MetroNumber;
  /** Of a developer key's hash. */
  key: number;
  rider: RiderNumber;
  ride: RideNumber;
  night: NightNumber;
  day: MetroDay;
}

/** A kind of view that is one key's value. */
interface ValueViews extends NumberedViews {
  /** The view's value, a pure function of the facts, without a clock. Null if the view should not exist. */
  render(facts: Facts, view: number): Buffer | null;
}

interface Interned<N extends number> {
  ids(facts: Facts): Interner<N>;
  has(facts: Facts, view: N): boolean;
}

const interned = <N extends number>({ ids, has }: Interned<N>): NumberedViews<N> => ({
  *all(facts) {
    for (const view of ids(facts).numbers()) if (has(facts, view)) yield view;
  },
  id: (facts, view) => ids(facts).text(view),
  tag: (facts, view) => ids(facts).tag(view),
  find: (facts, id) => ids(facts).find(id),
});

const idOfDay = (facts: Facts, day: MetroDay): string =>
  dayId(facts.metroIds.text(subjectOf(day)), dayText(dayOf(day)));

function findDay(facts: Facts, id: string): MetroDay {
  const slash = id.lastIndexOf('/');
  const metro = facts.metroIds.find(id.slice(0, slash));
  const day = parseDay(id.slice(slash + 1));
  return metro < 0 || day === null ? noDay : subjectDay(metro, day);
}

const metros = interned({ ids: (of) => of.metroIds, has: (of, metro) => of.metros[metro] != null });
const hashes = interned({ ids: (of) => of.hashIds, has: (of, hash) => of.hashUses[hash]! > 0 });
const riders = interned({ ids: (of) => of.riderIds, has: (of, rider) => of.riderExists(rider) });
const rides = interned({ ids: (of) => of.rideIds, has: (of, ride) => of.rides[ride]!.record !== null });
const nights = interned({ ids: (of) => of.nightKeys, has: (of, night) => of.nightRecords[night] !== null });
const readers = interned({ ids: (of) => of.riderIds, has: (of, rider) => rider < of.riders.length });
const days: NumberedViews<MetroDay> = {
  all: (facts) => facts.nightsOfDay.keys(),
  id: idOfDay,
  tag: (facts, day) => tagOf(idOfDay(facts, day)),
  find: findDay,
};

export const valueViews: Record<FactKind, ValueViews> = {
  metro: { ...metros, render: renderMetro },
  key: { ...hashes, render: renderDeveloperKey },
  rider: { ...riders, render: renderRider },
  ride: { ...rides, render: renderRide },
  night: { ...nights, render: renderNight },
  day: { ...days, render: renderDay },
};

/** A rider's own layer, numbered by the rider, of whom a record is or was there. */
export const readerViews: NumberedViews & { render(facts: Facts, view: number): FieldWrite[] } = {
  ...readers,
  render: renderReader,
};

/** All kinds of views. */
export const numberedViews: Record<FactKind | RiderKind, NumberedViews> = { ...valueViews, reader: readerViews };
export const numberedKinds = Object.keys(numberedViews) as (FactKind | RiderKind)[];

/** A metro that exists, with its zone. */
function renderMetro(facts: Facts, metro: MetroNumber): Buffer | null {
  const record = facts.metros[metro];
  return record ? encodeMetro(record.time_zone) : null;
}

/** A live developer key, by the hash of its text: live while any current record has it (docs/rules.md#developer-keys). */
function renderDeveloperKey(facts: Facts, hash: number): Buffer | null {
  return (facts.hashUses[hash] ?? 0) > 0 ? encodeDeveloperKey() : null;
}

/** The card of a rider who exists. */
function renderRider(facts: Facts, number: RiderNumber): Buffer | null {
  const rider = facts.riders[number];
  if (!rider) return null;
  const name = textOrNull(rider.name);
  return encodeCard({ handle: rider.handle, name, sort: foldText(name ?? rider.handle) });
}
