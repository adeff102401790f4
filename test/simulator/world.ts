import { createHash } from 'node:crypto';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { tagOf } from '../../schemas/views/view-keys.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import * as example from '../reference/example-log.ts';

/** The few tags that the simulated world is in: every tag costs a beat, and none differs from another one. */
export const tags: readonly number[] = [0, 1, 2];

type Names = [string, ...string[]];

/** The first names, counted up, of which all that is made of them is in those tags. */
function named(prefix: string, count: number, idsOf: (name: string) => string[]): Names {
  const found: string[] = [];
  for (let i = 0; found.length < count; i++)
    if (idsOf(`${prefix}${i}`).every((id) => tags.includes(tagOf(id)))) found.push(`${prefix}${i}`);
  return found as Names;
}

export const days = [20_000, 20_001] as const;
export const nightId = (ride: string, day: number): string => `${ride}/${dayText(day)}`;
const withDays = (name: string) => [name, ...days.map((day) => nightId(name, day))];
export const [metro] = named('metro', 1, withDays);
export const rides = named('ride', 2, withDays);
export const riders = named('rider', 3, (name) => [name]);
/** The rider whose own answers are read. Never erased. */
export const [reader] = riders;
const hashOf = (text: string) => createHash('sha256').update(text).digest();
const asHash = (text: string) => [hashOf(text).toString('hex')];
/** A developer key that is always live. */
export const [developerKey] = named('rck_', 1, asHash);
/** One that comes and goes: any of its two records makes it live. */
export const [revokedKey] = named('rck_r', 1, asHash);
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

type Mark = 'follows' | 'flagged' | 'blocked';

/** Each change has a number, which shows in titles, places and names: so an answer tells how old it is. */
export class Changes {
  #number = 0;
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** What there is before anything runs. */
  *founding(): Generator<Change> {
    yield* [example.metro(metro, { time_zone: timeZone }), example.liveKey(developerKey, 'k1')];
    for (const id of revokedKeyIds) yield this.key(id, true);
    for (const rider of riders) yield this.rider(rider);
    for (const ride of rides) {
      yield this.ride(ride);
      for (const day of days) yield this.night(ride, day);
    }
    for (const other of riders.slice(1)) {
      if (this.#random.chance(0.5)) yield this.#revised(example.marks(reader, other, 'follows'));
      if (this.#random.chance(0.5)) yield this.rsvp(this.#random.pick(rides), this.#random.pick(days), other, 'GOING');
    }
  }

  any(): Change {
    const random = this.#random;
    const [ride, day, rider, other] = [random.pick(rides), random.pick(days), random.pick(riders), random.pick(riders)];
    const what = random.int(1, 100);
    if (what <= 30) return this.ride(ride, random.chance(0.9));
    if (what <= 35) return example.gone('rides', ride);
    if (what <= 50) return this.night(ride, day);
    if (what <= 55) return example.gone('nights', nightId(ride, day));
    if (what <= 78) return this.rsvp(ride, day, rider, random.pick(['GOING', 'GOING', 'NONE']), random.chance(0.2));
    if (what <= 90) {
      if (rider === other) return this.rider(rider);
      return this.relation(rider, other, { follows: 0.6, flagged: 0.2, blocked: 0.1 });
    }
    if (what <= 95 || rider === reader) return this.rider(rider);
    return example.gone('riders', rider);
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
    return this.relation(first, second, { follows: 0.5, flagged: 0.5 });
  }

  /** What upstream should not have published: it says of an entity what another one is, or names none. */
  bad(): Change {
    const random = this.#random;
    const [ride, day, rider, other] = [random.pick(rides), random.pick(days), random.pick(riders), random.pick(riders)];
    const bad = true;
    const not = <T>(names: readonly T[], one: T): T => names.find((each) => each !== one)!;
    const what = random.int(1, 4);
    if (what === 1) return { ...this.ride(ride), key: not(rides, ride), bad };
    if (what === 2) return { ...this.night(ride, day), key: nightId(ride, not(days, day)), bad };
    if (what === 3)
      return { ...this.rsvp(ride, day, rider, 'GOING'), key: `${nightId(ride, day)}/${not(riders, rider)}`, bad };
    // Nobody relates to themself.
    return { ...example.gone('relations', `${other}/${other}`), bad };
  }

  ride(ride: string, posted = true): Change {
    return example.ride(ride, { title: `t${++this.#number}`, metro, posted });
  }

  night(ride: string, day: number): Change {
    return example.night(ride, dayText(day), example.place({ place_name: `p${++this.#number}` }));
  }

  rider(rider: string): Change {
    return example.rider(rider, { handle: rider, name: `n${++this.#number}` });
  }

  key(id: string = this.#random.pick(revokedKeyIds), isLive = this.#random.chance(0.4)): Change {
    return isLive ? example.liveKey(revokedKey, id) : example.gone('developer-keys', id);
  }

  rsvp(ride: string, day: number, rider: string, response: 'GOING' | 'NONE', saved = false): Change {
    return this.#revised(example.says(rider, response, ride, dayText(day), saved));
  }

  /** `chances`: of each mark. */
  relation(rider: string, other: string, chances: Partial<Record<Mark, number>>): Change {
    const given = (Object.keys(chances) as Mark[]).filter((mark) => this.#random.chance(chances[mark]!));
    return this.#revised(example.marks(rider, other, ...given));
  }

  /** No two are alike. */
  #revised({ value, ...change }: Change): Change {
    return { ...change, value: { ...value!, revision: ++this.#number } };
  }
}
