import tzdata from 'tzdata' with { type: 'json' };
import type {
  AnyRecord,
  Attendance,
  DeveloperKey,
  District,
  Metro,
  Night,
  Relation,
  Ride,
  Rider,
  TopicName,
  TopicRecords,
} from '../../schemas/events/records.ts';
import { dayOf, dayText, firstDay, lastDay } from './dates.ts';

/** A record of the log as far as facts go: key and value; null is a tombstone. */
export interface LoggedRecord {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
}

/** The last good record of each key that is not gone, by topic and key, with texts and times as they count. */
export type Facts = { [T in TopicName]: Map<string, TopicRecords[T]> };

/**
 * The facts that a log stands for (docs/rules.md#law): the last good record per key. A bad record changes nothing, a
 * tombstone removes. Each key's records must come in log order; nothing else about the order matters.
 */
export function latestRecords(records: Iterable<LoggedRecord>): Facts {
  const facts: Facts = {
    metros: new Map(),
    districts: new Map(),
    riders: new Map(),
    rides: new Map(),
    nights: new Map(),
    attendance: new Map(),
    relations: new Map(),
    'developer-keys': new Map(),
  };
  for (const record of records) {
    if (badness(record) !== null) continue;
    const ofTopic = facts[record.topic] as Map<string, AnyRecord>;
    if (record.value === null) ofTopic.delete(record.key);
    else ofTopic.set(record.key, asItCounts(record.topic, record.value));
  }
  return facts;
}

const slug = /^[a-z0-9-]{2,32}$/;
const districtSlug = /^[a-z0-9-]{1,80}$/;
const rideId = /^[a-z0-9]{4,32}$/;
const opaqueId = /^[A-Za-z0-9_-]{1,64}$/;
const url = /^https?:\/\/[A-Za-z0-9._~:/?#@!$&'()*+,;=%[\]-]+$/;
const zones = new Set(Object.keys(tzdata.zones).filter((zone) => zone !== 'Factory'));
const dayLengthMs = 86_400_000;

/** Why a record is bad, in a few words for people, or null for a good one. */
export function badness({ topic, key, value }: LoggedRecord): string | null {
  const parts = key.split('/');
  if (parts.length !== keyPatterns[topic].length) return 'key off its pattern';
  if (!parts.every((part, i) => isWellFormed(part, keyPatterns[topic][i]!))) return 'key off its pattern';
  // A tombstone's key too: no good record has it, so there is nothing to take back.
  if (topic === 'relations' && parts[0] === parts[1]) return 'a rider related to themself';
  if (value === null) return null;
  if (topic === 'nights' || topic === 'attendance') {
    const { day } = value as Night | Attendance;
    if (day < firstDay || day > lastDay) return 'day outside years 0001 to 9999';
  }
  if (keyIn(topic, value) !== key) return 'key disagrees with value';
  if (topic === 'metros' && !zones.has((value as Metro).time_zone)) return 'no such time zone';
  if ((topic === 'rides' || topic === 'nights') && !url.test((value as Ride | Night).url)) return 'url off its pattern';
  if (topic === 'nights') {
    const time = (value as Night).meet_time;
    if (time !== null && (time < 0 || time >= dayLengthMs)) return 'time outside the day';
  }
  return null;
}

const keyPatterns: Record<TopicName, (RegExp | 'date')[]> = {
  metros: [slug],
  districts: [districtSlug],
  riders: [opaqueId],
  rides: [rideId],
  nights: [rideId, 'date'],
  attendance: [rideId, 'date', opaqueId],
  relations: [opaqueId, opaqueId],
  'developer-keys': [opaqueId],
};

function isWellFormed(part: string, pattern: RegExp | 'date'): boolean {
  return pattern === 'date' ? dayOf(part) !== null : pattern.test(part);
}

function keyIn(topic: TopicName, value: AnyRecord): string {
  switch (topic) {
    case 'metros':
      return (value as Metro).metro;
    case 'districts':
      return (value as District).district;
    case 'riders':
      return (value as Rider).rider;
    case 'rides':
      return (value as Ride).ride;
    case 'nights':
      return `${(value as Night).ride}/${dayText((value as Night).day)}`;
    case 'attendance': {
      const { ride, day, rider } = value as Attendance;
      return `${ride}/${dayText(day)}/${rider}`;
    }
    case 'relations':
      return `${(value as Relation).rider}/${(value as Relation).other}`;
    case 'developer-keys':
      return (value as DeveloperKey).key_id;
  }
}

/** A zero-length nullable text is null, and the seconds of a meet_time are cut off. */
function asItCounts(topic: TopicName, value: AnyRecord): AnyRecord {
  if (topic === 'riders') return { ...(value as Rider), name: (value as Rider).name || null };
  if (topic === 'rides') return { ...(value as Ride), description: (value as Ride).description || null };
  if (topic !== 'nights') return value;
  const night = value as Night;
  return {
    ...night,
    meet_time: night.meet_time === null ? null : night.meet_time - (night.meet_time % 60_000),
    cancellation_reason: night.cancellation_reason || null,
    meeting: night.meeting && { ...night.meeting, place_name: night.meeting.place_name || null },
  };
}
