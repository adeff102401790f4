import type { Long } from './instants.ts';

/**
 * The records of the event log in memory, one type per topic (docs/rules.md#topics). Field names and order are those of
 * the Avro schemas in `schemas/events/*.avsc`.
 */

/** `revision` rises per key. `changed_at` is in milliseconds since the epoch. */
interface Stamped {
  revision: Long;
  changed_at: Long;
}

export interface Metro extends Stamped {
  metro: string;
  name: string;
  /** IANA Zone or Link name. */
  time_zone: string;
}

export interface District extends Stamped {
  district: string;
  metro: string;
  name: string;
  kind: 'DISTRICT' | 'CITY';
}

export interface Rider extends Stamped {
  rider: string;
  handle: string;
  name: string | null;
}

export type Distance = 'UNDER_5' | 'FROM_5_TO_10' | 'FROM_10_TO_20' | 'FROM_20_TO_40' | 'OVER_40';
export type Audience = 'GENERAL' | 'FAMILY_FRIENDLY' | 'ADULTS_21_PLUS';

export interface Ride extends Stamped {
  ride: string;
  title: string;
  description: string | null;
  type: string;
  metro: string;
  distance: Distance | null;
  audience: Audience | null;
  /** Rider ids. */
  leaders: string[];
  posted: boolean;
  url: string;
}

/** Where a night meets, including secret places. Never send or store it as it is. */
export interface MeetingPlace {
  place_name: string | null;
  /** District slug. */
  district: string | null;
  secret: boolean;
  show_neighbourhood: boolean;
}

export interface Night extends Stamped {
  ride: string;
  /** Days since 1970-01-01. */
  day: number;
  /** Milliseconds since local midnight. */
  meet_time: number | null;
  status: 'ON' | 'CANCELLED';
  cancellation_reason: string | null;
  meeting: MeetingPlace | null;
  url: string;
}

export interface Attendance extends Stamped {
  ride: string;
  /** Days since 1970-01-01. */
  day: number;
  rider: string;
  response: 'NONE' | 'GOING' | 'CONFIRMED';
  saved: boolean;
}

export interface Relation extends Stamped {
  rider: string;
  other: string;
  follows: boolean;
  close: boolean;
  flagged: boolean;
  blocked: boolean;
}

export interface DeveloperKey extends Stamped {
  key_id: string;
  /** SHA-256 of the key's text, 32 bytes. */
  key_hash: Buffer;
  label: string | null;
}

export interface TopicRecords {
  metros: Metro;
  districts: District;
  riders: Rider;
  rides: Ride;
  nights: Night;
  attendance: Attendance;
  relations: Relation;
  'developer-keys': DeveloperKey;
}

export type TopicName = keyof TopicRecords;
export type AnyRecord = TopicRecords[TopicName];

/** The eight topics, small ones first. Names are without the prefix. */
export const topicNames: readonly TopicName[] = [
  'metros',
  'districts',
  'developer-keys',
  'riders',
  'rides',
  'nights',
  'attendance',
  'relations',
];

/** Whether a text that others wrote names a topic. Look nothing up by it before: `__proto__` is in every object. */
export const isTopicName = (name: string): name is TopicName => (topicNames as readonly string[]).includes(name);

export const byTopic = <T>(make: (topic: TopicName) => T): Record<TopicName, T> =>
  Object.fromEntries(topicNames.map((topic) => [topic, make(topic)])) as Record<TopicName, T>;

/** The default of KAFKA_TOPIC_PREFIX. */
export const defaultTopicPrefix = 'ride-calendar.';
