import tzdata from 'tzdata' with { type: 'json' };
import { type AnyRecord, byTopic, type TopicName, type TopicRecords } from '../../schemas/events/records.ts';
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
  const facts: Facts = byTopic(() => new Map());
  for (const record of records) {
    if (badness(record) !== null) continue;
    const ofTopic = facts[record.topic] as Map<string, AnyRecord>;
    if (record.value === null) ofTopic.delete(record.key);
    else ofTopic.set(record.key, asItCounts(record.topic, record.value));
  }
  return facts;
}

/** Fields of which a record may have some. */
type All = TopicRecords['nights'] & TopicRecords['metros'] & TopicRecords['rides'] & TopicRecords['riders'];

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
  const { day, url: link, meet_time: time, time_zone: zone } = value as Partial<All>;
  if (day !== undefined && (day < firstDay || day > lastDay)) return 'day outside years 0001 to 9999';
  if ((keyIn[topic] as (value: AnyRecord) => string)(value) !== key) return 'key disagrees with value';
  if (zone !== undefined && !zones.has(zone)) return 'no such time zone';
  if (link !== undefined && !url.test(link)) return 'url off its pattern';
  if (typeof time === 'number' && (time < 0 || time >= dayLengthMs)) return 'time outside the day';
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

const keyIn: { [T in TopicName]: (value: TopicRecords[T]) => string } = {
  metros: ({ metro }) => metro,
  districts: ({ district }) => district,
  riders: ({ rider }) => rider,
  rides: ({ ride }) => ride,
  nights: ({ ride, day }) => `${ride}/${dayText(day)}`,
  attendance: ({ ride, day, rider }) => `${ride}/${dayText(day)}/${rider}`,
  relations: ({ rider, other }) => `${rider}/${other}`,
  'developer-keys': ({ key_id }) => key_id,
};

/** A zero-length nullable text is null, and the seconds of a meet_time are cut off. */
function asItCounts(topic: TopicName, value: AnyRecord): AnyRecord {
  if (topic === 'riders' || topic === 'rides' || topic === 'nights') {
    const record = { ...value } as Partial<All>;
    for (const name of ['name', 'description', 'cancellation_reason'] as const)
      if (record[name] === '') record[name] = null as never;
    if (record.meet_time) record.meet_time -= record.meet_time % 60_000;
    if (record.meeting?.place_name === '') record.meeting = { ...record.meeting, place_name: null };
    return record as AnyRecord;
  }
  return value;
}
