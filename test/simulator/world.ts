import { createHash } from 'node:crypto';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { tagOf } from '../../schemas/views/view-keys.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import { sampleRecords } from '../support/worlds/records.ts';

/** For worlds in few tags: the first names, counted up, of which all that is made of them is in those tags. */
const namesInTags =
  (tags: readonly number[]) =>
  (prefix: string, count: number, ids: (name: string) => string[] = (name) => [name]): string[] => {
    const found: string[] = [];
    for (let i = 0; found.length < count; i++) {
      if (ids(`${prefix}${i}`).every((id) => tags.includes(tagOf(id)))) found.push(`${prefix}${i}`);
    }
    return found;
  };

/** The few tags that the simulated world is in: every tag costs a beat, and none differs from another one. */
export const tags: readonly number[] = [0, 1, 2];

const named = namesInTags(tags);

export const days = [20_000, 20_001] as const;
export const [metro] = named('metro', 1, (name) => days.map((day) => `${name}/${dayText(day)}`).concat(name)) as [
  string,
];
export const rides = named('ride', 2, (name) => days.map((day) => `${name}/${dayText(day)}`).concat(name));
export const riders = named('rider', 3);
/** The rider whose own answers are read. Never erased. */
export const [reader] = riders as [string];
const hashOf = (text: string) => createHash('sha256').update(text).digest();
/** A developer key that is always live. */
export const [developerKey] = named('rck_', 1, (text) => [hashOf(text).toString('hex')]) as [string];
/** One that comes and goes: any of its two records makes it live. */
export const [revokedKey] = named('rck_r', 1, (text) => [hashOf(text).toString('hex')]) as [string];
export const revokedKeyIds = ['k2', 'k3'] as const;
export const timeZone = 'America/Los_Angeles';

/** A record's name: `nights ride7/2024-10-04`. */
export type EntityName = string;

export interface Change {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
  /** It breaks a rule: it is set aside, and changes no fact. */
  bad?: boolean;
}

export const entityName = ({ topic, key }: Pick<Change, 'topic' | 'key'>): EntityName => `${topic} ${key}`;
export const nightId = (ride: string, day: number): string => `${ride}/${dayText(day)}`;
export const keyEntity = (id: string): EntityName => `developer-keys ${id}`;
export const rideEntity = (ride: string): EntityName => `rides ${ride}`;
export const nightEntity = (ride: string, day: number): EntityName => `nights ${nightId(ride, day)}`;
export const riderEntity = (rider: string): EntityName => `riders ${rider}`;
export const rsvpEntity = (ride: string, day: number, rider: string): EntityName =>
  `attendance ${nightId(ride, day)}/${rider}`;
export const relationEntity = (rider: string, other: string): EntityName => `relations ${rider}/${other}`;

const url = 'https://rides.example/';

/** Each change has a number, which shows in titles, places and names: so an answer tells how old it is. */
export class Changes {
  #number = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** What there is before anything runs. */
  *founding(): Generator<Change> {
    yield {
      topic: 'metros',
      key: metro,
      value: { ...sampleRecords.metros, metro, name: metro, time_zone: timeZone },
    };
    const value = { ...sampleRecords['developer-keys'], key_id: 'k1', key_hash: hashOf(developerKey) };
    yield { topic: 'developer-keys', key: 'k1', value };
    for (const id of revokedKeyIds) yield this.key(id, true);
    for (const rider of riders) yield this.rider(rider);
    for (const ride of rides) {
      yield this.ride(ride);
      for (const day of days) yield this.night(ride, day);
    }
    for (const other of riders.slice(1)) {
      if (this.#random.chance(0.5)) yield this.relation(reader, other, { follows: true });
      if (this.#random.chance(0.5)) yield this.rsvp(this.#random.pick(rides), this.#random.pick(days), other, 'GOING');
    }
  }

  any(): Change {
    const random = this.#random;
    const [ride, day, rider, other] = [random.pick(rides), random.pick(days), random.pick(riders), random.pick(riders)];
    const what = random.int(1, 100);
    if (what <= 30) return this.ride(ride, random.chance(0.9));
    if (what <= 35) return { topic: 'rides', key: ride, value: null };
    if (what <= 50) return this.night(ride, day);
    if (what <= 55) return { topic: 'nights', key: nightId(ride, day), value: null };
    if (what <= 78) return this.rsvp(ride, day, rider, random.pick(['GOING', 'GOING', 'NONE']), random.chance(0.2));
    if (what <= 90) {
      if (rider === other) return this.rider(rider);
      return this.relation(rider, other, {
        follows: random.chance(0.6),
        flagged: random.chance(0.2),
        blocked: random.chance(0.1),
      });
    }
    if (what <= 95 || rider === reader) return this.rider(rider);
    return { topic: 'riders', key: rider, value: null };
  }

  /** Another record of the same key. */
  anew({ topic, key }: Pick<Change, 'topic' | 'key'>): Change {
    const random = this.#random;
    const [first, second, third] = key.split('/') as [string, string, string];
    const day = days.find((each) => dayText(each) === second) ?? days[0];
    if (topic === 'rides') return this.ride(key);
    if (topic === 'nights') return this.night(first, day);
    if (topic === 'riders') return this.rider(key);
    if (topic === 'developer-keys') return this.key(key);
    if (topic === 'attendance') return this.rsvp(first, day, third, random.pick(['GOING', 'NONE']));
    return this.relation(first, second, { follows: random.chance(0.5), flagged: random.chance(0.5) });
  }

  /** What upstream should not have published: it says of an entity what another one is, or names none. */
  bad(): Change {
    const random = this.#random;
    const [ride, day, rider, other] = [random.pick(rides), random.pick(days), random.pick(riders), random.pick(riders)];
    const bad = true;
    switch (random.int(1, 4)) {
      case 1:
        return { ...this.ride(ride), key: rides.find((each) => each !== ride)!, bad };
      case 2:
        return { ...this.night(ride, day), key: nightId(ride, days.find((each) => each !== day)!), bad };
      case 3:
        return {
          ...this.rsvp(ride, day, rider, 'GOING'),
          key: `${nightId(ride, day)}/${riders.find((each) => each !== rider)}`,
          bad,
        };
      default:
        // Nobody relates to themself.
        return { topic: 'relations', key: `${other}/${other}`, value: null, bad };
    }
  }

  ride(ride: string, posted = true): Change {
    const title = `t${++this.#number}`;
    const value = { ...sampleRecords.rides, ride, title, metro, posted, leaders: [], url };
    return { topic: 'rides', key: ride, value };
  }

  night(ride: string, day: number): Change {
    const meeting = { place_name: `p${++this.#number}`, district: null, secret: false, show_neighbourhood: false };
    return { topic: 'nights', key: nightId(ride, day), value: { ...sampleRecords.nights, ride, day, meeting, url } };
  }

  rider(rider: string): Change {
    const name = `n${++this.#number}`;
    return { topic: 'riders', key: rider, value: { ...sampleRecords.riders, rider, handle: rider, name } };
  }

  key(id: string = this.#random.pick(revokedKeyIds), isLive = this.#random.chance(0.4)): Change {
    const value = { ...sampleRecords['developer-keys'], key_id: id, key_hash: hashOf(revokedKey) };
    return { topic: 'developer-keys', key: id, value: isLive ? value : null };
  }

  rsvp(ride: string, day: number, rider: string, response: 'GOING' | 'NONE', saved = false): Change {
    const value = { ...sampleRecords.attendance, ride, day, rider, response, saved, revision: ++this.#number };
    return { topic: 'attendance', key: `${nightId(ride, day)}/${rider}`, value };
  }

  relation(rider: string, other: string, bits: { follows?: boolean; flagged?: boolean; blocked?: boolean }): Change {
    const none = { follows: false, close: false, flagged: false, blocked: false };
    const value = { ...sampleRecords.relations, ...none, rider, other, ...bits, revision: ++this.#number };
    return { topic: 'relations', key: `${rider}/${other}`, value };
  }
}
