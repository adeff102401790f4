import { dayText, parseDay } from '../../schemas/views/days.ts';
import { type FactKind, tagOf } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { dayOf, subjectDay, subjectOf } from '../facts/subject-day.ts';
import { renderDay } from './day.ts';
import { renderDeveloperKey, renderMetro, renderRider } from './lookup-views.ts';
import { renderNight } from './night.ts';
import { renderRide } from './ride.ts';

/**
 * A kind of view that is one key's value. Views are numbered by interned numbers; a day's number is made of the metro's
 * number and the day (subject-day.ts). The number never leaves the process: a store identifies the view by its id.
 */
export interface ValueViews {
  /** The view's value, a pure function of the facts, without a clock. Null if the view should not exist. */
  render(facts: Facts, view: number): Buffer | null;
  /** Every view for which `render` may return something. */
  all(facts: Facts): Iterable<number>;
  id(facts: Facts, view: number): string;
  /** The tag of its id. */
  tag(facts: Facts, view: number): number;
  /** The number of the view with a stored id. -1 if no fact has named it. */
  find(facts: Facts, id: string): number;
}

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
    all: (facts) => numbers(facts.metros.length, (metro) => facts.metros[metro] != null),
    id: (facts, metro) => facts.metroIds.text(metro),
    tag: (facts, metro) => facts.metroIds.tag(metro),
    find: (facts, id) => facts.metroIds.find(id),
  },
  key: {
    render: renderDeveloperKey,
    all: (facts) => numbers(facts.hashUses.length, (hash) => facts.hashUses[hash]! > 0),
    id: (facts, hash) => facts.hashIds.text(hash),
    tag: (facts, hash) => facts.hashIds.tag(hash),
    find: (facts, id) => facts.hashIds.find(id),
  },
  rider: {
    render: renderRider,
    all: (facts) => numbers(facts.riders.length, (rider) => facts.riderExists(rider)),
    id: (facts, rider) => facts.riderIds.text(rider),
    tag: (facts, rider) => facts.riderIds.tag(rider),
    find: (facts, id) => facts.riderIds.find(id),
  },
  ride: {
    render: renderRide,
    all: (facts) => numbers(facts.rides.length, (ride) => facts.rides[ride]!.record !== null),
    id: (facts, ride) => facts.rides[ride]!.id,
    tag: (facts, ride) => facts.rideIds.tag(ride),
    find: (facts, id) => facts.rideIds.find(id),
  },
  night: {
    render: renderNight,
    all: (facts) => numbers(facts.nightRecords.length, (night) => facts.nightRecords[night] !== null),
    id: (facts, night) => facts.nightKeys.text(night),
    tag: (facts, night) => facts.nightKeys.tag(night),
    find: (facts, id) => facts.nightKeys.find(id),
  },
  day: {
    render: (facts, day) => renderDay(facts, subjectOf(day), dayOf(day)),
    all: (facts) => facts.nightsOfDay.keys(),
    id: dayId,
    tag: (facts, day) => tagOf(dayId(facts, day)),
    find: findDay,
  },
};
