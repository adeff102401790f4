import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  close,
  confirmed,
  dayOf,
  flagged,
  follows,
  going,
  relationBits,
  rsvpBits,
  subjectOf,
} from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { Touched } from '../../../projector/facts/touched.ts';
import type { AnyRecord, Night, Ride, TopicName, TopicRecords } from '../../../schemas/events/records.ts';
import { district, gone, marks, metro, night, ride, rider, says } from '../../reference/example-log.ts';
import { badness, type LoggedRecord } from '../../reference/facts.ts';
import { historyArb } from '../../support/worlds/histories.ts';
import { recordKey, sampleRecords } from '../../support/worlds/records.ts';

const watches = follows | close | flagged;
const isGoing = (bits: number): boolean => (bits & (going | confirmed)) > 0;
const numRuns = Number(process.env.RUNS ?? 100);

type Sets = Record<string, string[]>;

/** The last record of each key, and what follows from them, computed anew each time. */
class Model {
  readonly records = new Map<string, AnyRecord>();
  /** Every date that a night's or an RSVP's key ever named, tombstones' too, by ride. */
  readonly days = new Map<string, Set<number>>();

  record<T extends TopicName>(topic: T, key: string): TopicRecords[T] | null {
    return (this.records.get(`${topic} ${key}`) as TopicRecords[T] | undefined) ?? null;
  }

  *all<T extends TopicName>(topic: T): Generator<[string, TopicRecords[T]]> {
    for (const [name, value] of this.records) {
      if (name.startsWith(`${topic} `)) yield [name.slice(topic.length + 1), value as TopicRecords[T]];
    }
  }

  rsvp(night: string, rider: string): number {
    const value = this.record('attendance', `${night}/${rider}`);
    return value ? rsvpBits(value.response, value.saved) : 0;
  }

  /** Texts by the text that `of` gives each record of a topic. */
  sets<T extends TopicName>(topic: T, of: (value: TopicRecords[T], key: string) => (string | null)[]): Sets {
    const sets: Sets = {};
    for (const [key, value] of this.all(topic)) {
      for (const name of of(value, key)) {
        if (name === null) continue;
        sets[name] ??= [];
        sets[name].push(key);
      }
    }
    return Object.fromEntries(Object.entries(sets).map(([name, list]) => [name, [...new Set(list)].sort()]));
  }

  /** Sets the record, and says what a fold has to tell of that. */
  apply(topic: TopicName, key: string, value: AnyRecord | null): Set<string> {
    const before = this.record(topic, key);
    const [first = '', date = ''] = key.split('/');
    if (topic === 'nights' || topic === 'attendance') {
      const { day } = recordKey(topic, key);
      this.days.set(first, new Set([...(this.days.get(first) ?? []), day]));
    }
    const told = this.#told(topic, key, before, value, `${first}/${date}`);
    if (value) this.records.set(`${topic} ${key}`, value);
    else this.records.delete(`${topic} ${key}`);
    return new Set(told);
  }

  #told(topic: TopicName, key: string, before: AnyRecord | null, after: AnyRecord | null, night: string): string[] {
    switch (topic) {
      case 'metros': {
        const [was, is] = [before, after] as (TopicRecords['metros'] | null)[];
        return was?.time_zone === is?.time_zone ? [] : [`metro ${key}`];
      }
      case 'districts':
        return [...this.all('nights')]
          .filter(([, { meeting }]) => meeting?.district === key)
          .map(([nightKey]) => `night ${nightKey}`);
      case 'rides': {
        const [was, is] = [before, after] as (Ride | null)[];
        const [gone, came] = [new Set(was?.leaders), new Set(is?.leaders)];
        const changed = [...gone.symmetricDifference(came)];
        const days = [...(this.days.get(key) ?? [])];
        return [
          `ride ${key} in ${was?.metro}`,
          `ride ${key} in ${(was?.metro === is?.metro ? was : is)?.metro}`,
          ...changed.flatMap((leader) => days.map((day) => `own ${leader} ${day}`)),
        ];
      }
      case 'nights': {
        const leaders = this.record('rides', key.split('/')[0]!)?.leaders ?? [];
        const { day } = recordKey('nights', key);
        const appeared = (before === null) !== (after === null);
        return [`night ${key}`, ...(appeared ? leaders.map((leader) => `own ${leader} ${day}`) : [])];
      }
      case 'riders': {
        if ((before === null) === (after === null)) return [`card ${key}`];
        const nights = [...this.all('attendance')]
          .filter(([rsvp, { response }]) => rsvp.split('/')[2] === key && response !== 'NONE')
          .map(([rsvp]) => `night ${rsvp.split('/').slice(0, 2).join('/')}`);
        return [`card ${key}`, `existence ${key}`, ...nights];
      }
      case 'attendance': {
        const [, , rider = ''] = key.split('/');
        const [was, is] = [before, after].map((value) => {
          const rsvp = value as TopicRecords['attendance'] | null;
          return rsvp ? rsvpBits(rsvp.response, rsvp.saved) : 0;
        }) as [number, number];
        if (was === is) return [];
        const { day } = recordKey('attendance', key);
        const counts = isGoing(was) !== isGoing(is) && this.record('riders', rider) !== null;
        return [`own ${rider} ${day}`, ...(counts ? [`night ${night}`, `going ${rider} ${day}`] : [])];
      }
      case 'relations': {
        const [was, is] = [before, after].map((value) =>
          value ? relationBits(value as TopicRecords['relations']) : 0,
        );
        return was === is ? [] : [`relation ${key} ${was} ${is}`];
      }
      case 'developer-keys': {
        const hashes = [before, after].map((value) => value && hashText(value as TopicRecords['developer-keys']));
        return hashes[0] === hashes[1] ? [] : hashes.filter((hash) => hash !== null).map((hash) => `key ${hash}`);
      }
    }
  }
}

const hashText = ({ key_hash }: TopicRecords['developer-keys']): string => Buffer.from(key_hash).toString('hex');

/** What a fold tells, with texts for its numbers; of a ride, also the metro that it is in at that moment. */
function hearing({ facts }: Fold, told: Set<string>): Touched {
  const { metroIds, rideIds, nightKeys, riderIds, hashIds } = facts;
  return {
    metro: (metro) => told.add(`metro ${metroIds.text(metro)}`),
    ride(ride) {
      const { metro } = facts.rides[ride]!;
      told.add(`ride ${rideIds.text(ride)} in ${metro < 0 ? undefined : metroIds.text(metro)}`);
    },
    night: (night) => told.add(`night ${nightKeys.text(night)}`),
    card: (rider) => told.add(`card ${riderIds.text(rider)}`),
    existence: (rider) => told.add(`existence ${riderIds.text(rider)}`),
    keyHash: (hash) => told.add(`key ${hashIds.text(hash)}`),
    own: (rider, day) => told.add(`own ${riderIds.text(rider)} ${day}`),
    going: (rider, day) => told.add(`going ${riderIds.text(rider)} ${day}`),
    relation: (reader, other, before, after) =>
      told.add(`relation ${riderIds.text(reader)}/${riderIds.text(other)} ${before} ${after}`),
  };
}

/** What the last record was about, as texts. */
function subjectText({ facts, subject }: Fold, topic: TopicName): string {
  const { metroIds, districtIds, riderIds, rideIds, nightKeys, keyIds } = facts;
  const { first, second } = subject;
  if (topic === 'attendance') return `${nightKeys.text(second)}/${riderIds.text(first)}`;
  if (topic === 'relations') return `${riderIds.text(first)}/${riderIds.text(second)}`;
  const ids = { metros: metroIds, districts: districtIds, riders: riderIds, rides: rideIds, nights: nightKeys };
  return second === 0 ? { ...ids, 'developer-keys': keyIds }[topic].text(first) : 'two subjects';
}

/** A map of sets of numbers as texts. */
function texts<K>(
  sets: Iterable<[K, Set<number>]>,
  keyOf: (key: K) => string,
  textOf: { text(number: number): string },
): Sets {
  const list = [...sets].map(([key, set]) => [keyOf(key), [...set].map((number) => textOf.text(number)).sort()]);
  return Object.fromEntries(list);
}

function expectFacts({ facts }: Fold, model: Model): void {
  const { metroIds, rideIds, nightKeys, riderIds, hashIds, keyIds } = facts;
  const metroOf = (night: string): string | undefined => model.record('rides', night.split('/')[0]!)?.metro;
  expect(texts(facts.ridesOfMetro, (metro) => metroIds.text(metro), rideIds)).toEqual(
    model.sets('rides', ({ metro }) => [metro]),
  );
  expect(texts(facts.nightsOfDay, (pair) => `${metroIds.text(subjectOf(pair))} ${dayOf(pair)}`, nightKeys)).toEqual(
    model.sets('nights', ({ day }, key) => [metroOf(key) === undefined ? null : `${metroOf(key)} ${day}`]),
  );
  expect(texts(facts.nightsOfDistrict, (slug) => slug, nightKeys)).toEqual(
    model.sets('nights', ({ meeting }) => [meeting?.district || null]),
  );
  expect(texts(facts.led, (rider) => riderIds.text(rider), rideIds)).toEqual(
    model.sets('rides', ({ leaders }) => leaders),
  );
  const hashes = Object.fromEntries([...facts.keyHashes].map(([id, hash]) => [keyIds.text(id), hashIds.text(hash)]));
  expect(hashes).toEqual(Object.fromEntries([...model.all('developer-keys')].map(([id, key]) => [id, hashText(key)])));
  for (const [hash, uses] of facts.hashUses.entries()) {
    expect(uses).toBe(Object.values(hashes).filter((text) => text === hashIds.text(hash)).length);
  }

  for (const [metro, record] of facts.metros.entries()) {
    expect(record ?? null).toEqual(model.record('metros', metroIds.text(metro)));
  }
  expect(facts.districts).toEqual(new Map(model.all('districts')));
  for (const [ride, { id, record, metro }] of facts.rides.entries()) {
    expect([id, record]).toEqual([rideIds.text(ride), model.record('rides', id)]);
    expect(metro).toBe(record ? metroIds.find(record.metro) : -1);
  }
  for (const [night, record] of facts.nightRecords.entries()) {
    const key = nightKeys.text(night);
    const ride = facts.rides[facts.nightRide[night]!]!;
    expect(record).toEqual(model.record('nights', key) as Night | null);
    expect([`${ride.id}`, facts.nightDay[night]]).toEqual([key.split('/')[0], recordKey('nights', key).day]);
    expect(ride.nights.get(facts.nightDay[night]!)).toBe(night);
    const goers = [...model.all('riders')].filter(([rider]) => isGoing(model.rsvp(key, rider)));
    expect(facts.nightGoing[night]).toBe(goers.length);
  }
  for (let rider = 0; riderIds.find(riderIds.text(rider)) === rider; rider++) {
    const id = riderIds.text(rider);
    const record = model.record('riders', id);
    expect(facts.riders[rider] ?? null).toEqual(record && { handle: record.handle, name: record.name });
    expect(facts.riderExists(rider)).toBe(record !== null);
    const nights = Array.from({ length: facts.attendance.length(rider) }, (_, i) => facts.attendance.id(rider, i));
    const days = nights.map((night) => facts.nightDay[night]!);
    expect(days).toEqual(days.toSorted((a, b) => a - b));
    const rsvps = [...model.all('attendance')].filter(
      ([key]) => key.split('/')[2] === id && model.rsvp(nightIn(key), id),
    );
    expect(nights.map((night) => `${nightKeys.text(night)}/${id}`).sort()).toEqual(rsvps.map(([key]) => key).sort());
    for (const night of nights) expect(facts.attendance.get(rider, night)).toBe(model.rsvp(nightKeys.text(night), id));
    expect(edges(facts.relations, rider)).toEqual(related(([from, to]) => (from === id ? to! : null), 15));
    expect(edges(facts.watchers, rider)).toEqual(related(([from, to]) => (to === id ? from! : null), watches));
  }

  function edges(lists: typeof facts.relations, rider: number): Record<string, number> {
    const list = Array.from({ length: lists.length(rider) }, (_, i) => [
      riderIds.text(lists.id(rider, i)),
      lists.bits(rider, i),
    ]);
    return Object.fromEntries(list);
  }
  /** Riders that `of` names of a relation's two, with those of its bits. */
  function related(of: (pair: string[]) => string | null, mask: number): Record<string, number> {
    const list = [...model.all('relations')].map(([key, value]) => [of(key.split('/')), relationBits(value) & mask]);
    return Object.fromEntries(list.filter(([rider, bits]) => rider !== null && bits !== 0));
  }
}

const nightIn = (rsvp: string): string => rsvp.split('/').slice(0, 2).join('/');

function foldAll(records: readonly LoggedRecord[]): void {
  const fold = new Fold();
  const model = new Model();
  const told = new Set<string>();
  fold.subscribe(hearing(fold, told));
  for (const { topic, key, value } of records) {
    told.clear();
    fold.apply(topic, recordKey(topic, key), value as never);
    expect([subjectText(fold, topic), told]).toEqual([key, model.apply(topic, key, value)]);
  }
  expectFacts(fold, model);
}

// docs/rules.md#law, #last-record-wins, #going-count
it('a fold keeps what the last records say, and tells each change, and nothing that did not change', () => {
  fc.assert(
    fc.property(historyArb(), ({ records }) => foldAll(records.filter((record) => badness(record) === null))),
    { numRuns },
  );
});

it('a fold takes back what is gone: a rider who goes, a key, a ride that moves to another metro and back', () => {
  const key = (hash: number): LoggedRecord => {
    const value = { ...sampleRecords['developer-keys'], key_hash: Buffer.alloc(32, hash) };
    return { topic: 'developer-keys', key: 'k1', value };
  };
  foldAll([
    ...[metro('pdx'), rider('ada'), rider('bo'), ride('loop', { leaders: ['ada'] }), night('loop', '2015-06-13')],
    ...[
      says('bo', 'GOING', 'loop', '2015-06-13'),
      says('ada', 'NONE', 'loop', '2015-06-13', true),
      gone('riders', 'bo'),
    ],
    ...[rider('bo'), gone('riders', 'bo'), gone('riders', 'ada'), gone('riders', 'nobody')],
    ...[ride('loop', { metro: 'other', leaders: ['bo'] }), ride('loop', { leaders: ['bo'] }), gone('rides', 'loop')],
    ...[gone('rides', 'loop'), gone('nights', 'loop/2015-06-13'), gone('attendance', 'loop/2015-06-13/bo')],
    ...[key(1), key(2), gone('developer-keys', 'k1'), gone('developer-keys', 'k1')],
    ...[marks('ada', 'bo', 'follows'), marks('ada', 'bo', 'blocked'), gone('relations', 'ada/bo')],
    ...[metro('pdx', { name: 'Another town' }), metro('pdx', { time_zone: 'UTC' }), gone('metros', 'pdx')],
    ...[district('alameda'), gone('districts', 'alameda'), gone('districts', 'alameda')],
  ]);
});
