import { blocked, close, flagged, follows } from '../../../projector/facts/facts.ts';
import { keyShapes } from '../../../schemas/events/record-keys.ts';
import type { AnyRecord, Attendance, MeetingPlace, TopicName, TopicRecords } from '../../../schemas/events/records.ts';
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

/** A record without what changes with each publication. */
type Fields<T extends TopicName> = Omit<TopicRecords[T], 'revision' | 'changed_at'>;

interface SimMetro {
  record: Fields<'metros'>;
  sketch: MetroSketch;
  /** Indices into `districts`. */
  districts: number[];
  /** Indices into `riders`: those who live here, the busiest first. */
  riders: number[];
}

interface SimRider {
  record: Fields<'riders'>;
  metro: number;
  erased: boolean;
  /** Relations to others, packed: `other * 16 + bits`. */
  relations: number[];
}

export interface SimRide {
  record: Fields<'rides'>;
  metro: number;
  /** One of the days on which it meets. */
  firstDay: number;
  /** Days between two nights. Null: it meets once. */
  periodDays: number | null;
  meetTimeMs: number | null;
  meeting: MeetingPlace | null;
  /** An index into its metro's riders: those from here on come again and again. */
  firstRegular: number;
}

interface SimNight {
  record: Fields<'nights'>;
  ride: number;
  removed: boolean;
  /** RSVPs, packed: `rider 8 + response 2 + saved`. */
  attendance: number[];
  /** How many riders its metro had when it was announced, and how many of them have been asked. */
  riders: number;
  asked: number;
}

const responses: readonly Attendance['response'][] = ['NONE', 'GOING', 'CONFIRMED'];
export const noneResponse = 0;
export const goingResponse = 1;
export const confirmedResponse = 2;

export const site = 'https://rides.example.org';
export const dayMs = 86_400_000;

/** The topics whose entities are listed each by itself. */
type Listed = Exclude<TopicName, 'attendance' | 'relations'>;

/** The state of the simulated upstream. Each method returns an entity's present record. Revisions count all records. */
export class World {
  readonly options: SimulationOptions;
  /** The first day of the calendar, and how many days ahead nights are announced. */
  readonly firstDay: number;
  readonly aheadDays: number;
  readonly metros: SimMetro[] = [];
  readonly districts: { record: Fields<'districts'> }[] = [];
  readonly riders: SimRider[] = [];
  readonly rides: SimRide[] = [];
  readonly nights: SimNight[] = [];
  readonly nightsByDay = new Map<number, number[]>();
  readonly 'developer-keys': { record: Fields<'developer-keys'>; live: boolean }[] = [];
  /** Milliseconds since the epoch. Called once per record. Must not decrease. */
  clock: () => number = () => 0;
  #revision = 0;

  constructor(options: SimulationOptions) {
    this.options = options;
    const back = Math.floor(options.days / 3);
    this.firstDay = options.today - back;
    this.aheadDays = options.days - back;
  }

  /** The present record of one of these. */
  publish(topic: Listed, index: number): SimulatedRecord {
    const { record } = this[topic][index]!;
    const key =
      topic === 'nights' ? this.nightKey(index) : (record as Record<string, unknown>)[keyShapes[topic].names[0]!];
    return this.#record(topic, key as string, record);
  }

  /** Sets a rider's RSVP to a night, and returns its record. `at`: its index in the list, unless it is new. */
  attendance(
    index: number,
    rider: number,
    response: number,
    saved: boolean,
    at = this.nights[index]!.attendance.length,
  ): SimulatedRecord {
    const { record, attendance } = this.nights[index]!;
    attendance[at] = rider * 8 + response * 2 + (saved ? 1 : 0);
    return this.#record('attendance', this.attendanceKey(index, rider), {
      ride: record.ride,
      day: record.day,
      rider: this.riderId(rider),
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
      rider: this.riderId(rider),
      other: this.riderId(other),
      follows: (bits & follows) > 0,
      close: (bits & close) > 0,
      flagged: (bits & flagged) > 0,
      blocked: (bits & blocked) > 0,
    });
  }

  tombstone(topic: TopicName, key: string): SimulatedRecord {
    return { topic, key, value: null, timestampMs: this.clock() };
  }

  riderId(index: number): string {
    return this.riders[index]!.record.rider;
  }

  nightKey(index: number): string {
    const { ride, day } = this.nights[index]!.record;
    return `${ride}/${dayText(day)}`;
  }

  attendanceKey(index: number, rider: number): string {
    return `${this.nightKey(index)}/${this.riderId(rider)}`;
  }

  relationKey(rider: number, other: number): string {
    return `${this.riderId(rider)}/${this.riderId(other)}`;
  }

  addNight(night: SimNight): number {
    const index = this.nights.push(night) - 1;
    const { day } = night.record;
    const sameDay = this.nightsByDay.get(day) ?? [];
    this.nightsByDay.set(day, sameDay);
    sameDay.push(index);
    return index;
  }

  #record<T extends TopicName>(topic: T, key: string, fields: Fields<T>): SimulatedRecord {
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
