import { hash } from 'node:crypto';
import type {
  AnyRecord,
  Attendance,
  MeetingPlace,
  Night,
  Ride,
  TopicName,
  TopicRecords,
} from '../../../schemas/events/records.ts';
import { dayText } from '../../../schemas/views/days.ts';
import type { MetroSketch } from './metros.ts';

export interface SimulationOptions {
  metros: number;
  rides: number;
  riders: number;
  /** The number of days with nights. A third of them are before `today`. */
  days: number;
  seed: number;
  /** The day around which the calendar is made, in days since 1970-01-01. All happened before it began in UTC. */
  today: number;
}

/** One record to publish. Timestamps never decrease from one to the next, and equal the value's `changed_at`. */
export interface SimulatedRecord {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
  timestampMs: number;
}

/** What upstream would publish, in order. */
export type Records = Generator<SimulatedRecord, void, undefined>;

interface SimMetro {
  sketch: MetroSketch;
  /** Indices into `districts`. */
  districts: number[];
  /** Indices into `riders`: those who live here, the busiest first. */
  riders: number[];
}

export interface SimDistrict {
  slug: string;
  metro: number;
  name: string;
  kind: 'DISTRICT' | 'CITY';
}

interface SimRider {
  id: string;
  handle: string;
  name: string | null;
  metro: number;
  erased: boolean;
  /** Relations to others, packed: `other * 16 + bits`. */
  relations: number[];
}

export interface SimRide extends Pick<Ride, 'title' | 'description' | 'type' | 'distance' | 'audience' | 'posted'> {
  id: string;
  metro: number;
  /** Indices into `riders`. */
  leaders: number[];
  /** One of the days on which it meets. */
  firstDay: number;
  /** Days between two nights. Null: it meets once. */
  periodDays: number | null;
  meetTimeMs: number | null;
  meeting: MeetingPlace | null;
  /** An index into its metro's riders: those from here on come again and again. */
  firstRegular: number;
}

interface SimNight extends Pick<Night, 'day' | 'status' | 'cancellation_reason' | 'meeting'> {
  ride: number;
  meetTimeMs: number | null;
  removed: boolean;
  /** RSVPs, packed: `rider 8 + response 2 + saved`. */
  attendance: number[];
  /** How many riders its metro had when it was announced, and how many of them have been asked. */
  riders: number;
  asked: number;
}

interface SimKey {
  id: string;
  text: string;
  label: string | null;
  live: boolean;
}

export const follows = 1;
export const close = 2;
export const flagged = 4;
export const blocked = 8;

const responses: readonly Attendance['response'][] = ['NONE', 'GOING', 'CONFIRMED'];
export const noneResponse = 0;
export const goingResponse = 1;
export const confirmedResponse = 2;

const site = 'https://rides.example.org';
export const dayMs = 86_400_000;

/** The state of the simulated upstream. Each method returns an entity's present record. Revisions count all records. */
export class World {
  readonly options: SimulationOptions;
  /** The first day of the calendar, and how many days ahead nights are announced. */
  readonly firstDay: number;
  readonly aheadDays: number;
  readonly metros: SimMetro[] = [];
  readonly districts: SimDistrict[] = [];
  readonly riders: SimRider[] = [];
  readonly rides: SimRide[] = [];
  readonly nights: SimNight[] = [];
  readonly nightsByDay = new Map<number, number[]>();
  readonly keys: SimKey[] = [];
  /** Milliseconds since the epoch. Called once per record. Must not decrease. */
  clock: () => number = () => 0;
  #revision = 0;

  constructor(options: SimulationOptions) {
    this.options = options;
    const back = Math.floor(options.days / 3);
    this.firstDay = options.today - back;
    this.aheadDays = options.days - back;
  }

  metro(index: number): SimulatedRecord {
    const { slug, name, zone } = this.metros[index]!.sketch;
    return this.#record('metros', slug, { metro: slug, name, time_zone: zone });
  }

  district(index: number): SimulatedRecord {
    const { slug, metro, name, kind } = this.districts[index]!;
    return this.#record('districts', slug, { district: slug, metro: this.metros[metro]!.sketch.slug, name, kind });
  }

  rider(index: number): SimulatedRecord {
    const { id, handle, name } = this.riders[index]!;
    return this.#record('riders', id, { rider: id, handle, name });
  }

  ride(index: number): SimulatedRecord {
    const { id, title, description, type, metro, distance, audience, leaders, posted } = this.rides[index]!;
    return this.#record('rides', id, {
      ride: id,
      title,
      description,
      type,
      metro: this.metros[metro]!.sketch.slug,
      distance,
      audience,
      leaders: leaders.map((leader) => this.riders[leader]!.id),
      posted,
      url: `${site}/rides/${id}`,
    });
  }

  night(index: number): SimulatedRecord {
    const { ride, day, meetTimeMs, status, cancellation_reason, meeting } = this.nights[index]!;
    const id = this.rides[ride]!.id;
    return this.#record('nights', this.nightKey(index), {
      ride: id,
      day,
      meet_time: meetTimeMs,
      status,
      cancellation_reason,
      meeting,
      url: `${site}/rides/${id}/${dayText(day)}`,
    });
  }

  /** Sets a rider's RSVP to a night, and returns its record. `at`: its index in the list, unless it is new. */
  attendance(
    index: number,
    rider: number,
    response: number,
    saved: boolean,
    at = this.nights[index]!.attendance.length,
  ): SimulatedRecord {
    const { ride, day, attendance } = this.nights[index]!;
    attendance[at] = rider * 8 + response * 2 + (saved ? 1 : 0);
    return this.#record('attendance', this.attendanceKey(index, rider), {
      ride: this.rides[ride]!.id,
      day,
      rider: this.riders[rider]!.id,
      response: responses[response]!,
      saved,
    });
  }

  /** Sets how a rider marked another, and returns its record: bits of `follows`, `close`, `flagged`, `blocked`. */
  relation(rider: number, other: number, bits: number): SimulatedRecord {
    const { relations } = this.riders[rider]!;
    const at = relations.findIndex((packed) => packed >> 4 === other);
    if (at < 0) relations.push(other * 16 + bits);
    else relations[at] = other * 16 + bits;
    return this.#record('relations', this.relationKey(rider, other), {
      rider: this.riders[rider]!.id,
      other: this.riders[other]!.id,
      follows: (bits & follows) > 0,
      close: (bits & close) > 0,
      flagged: (bits & flagged) > 0,
      blocked: (bits & blocked) > 0,
    });
  }

  key(index: number): SimulatedRecord {
    const { id, text, label } = this.keys[index]!;
    return this.#record('developer-keys', id, { key_id: id, key_hash: hash('sha256', text, 'buffer'), label });
  }

  tombstone(topic: TopicName, key: string): SimulatedRecord {
    return { topic, key, value: null, timestampMs: this.clock() };
  }

  nightKey(index: number): string {
    const { ride, day } = this.nights[index]!;
    return `${this.rides[ride]!.id}/${dayText(day)}`;
  }

  attendanceKey(index: number, rider: number): string {
    return `${this.nightKey(index)}/${this.riders[rider]!.id}`;
  }

  relationKey(rider: number, other: number): string {
    return `${this.riders[rider]!.id}/${this.riders[other]!.id}`;
  }

  addNight(night: SimNight): number {
    const index = this.nights.push(night) - 1;
    const sameDay = this.nightsByDay.get(night.day);
    if (sameDay) sameDay.push(index);
    else this.nightsByDay.set(night.day, [index]);
    return index;
  }

  #record<T extends TopicName>(
    topic: T,
    key: string,
    fields: Omit<TopicRecords[T], 'revision' | 'changed_at'>,
  ): SimulatedRecord {
    const timestampMs = this.clock();
    this.#revision++;
    const value = { ...fields, revision: this.#revision, changed_at: timestampMs } as TopicRecords[T];
    return { topic, key, value, timestampMs };
  }
}

/** The start of a day in UTC, in milliseconds since the epoch. */
export const dayStartMs = (day: number): number => day * dayMs;

export const meetsOn = ({ firstDay, periodDays }: SimRide, day: number): boolean =>
  periodDays === null ? day === firstDay : day >= firstDay && (day - firstDay) % periodDays === 0;
