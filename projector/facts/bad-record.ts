import tzdata from 'tzdata' with { type: 'json' };
import { urlPattern } from '../../schemas/events/patterns.ts';
import { fieldsFault, isKeyOf, keyFault, keyFaults } from '../../schemas/events/record-keys.ts';
import type { AnyRecord, Attendance, Metro, Night, Ride, TopicName } from '../../schemas/events/records.ts';
import { dayMax, dayMin } from '../../schemas/views/days.ts';

/**
 * Why a record is bad, or null (docs/rules.md#what-is-bad). Reasons are a small fixed set, because they label a metric.
 * No reason contains anything of the record.
 */
export const badReasons = [
  ...keyFaults,
  'key disagrees with value',
  'time zone is not in the IANA database',
  'url does not match its pattern',
  'day outside years 0001 to 9999',
  'time outside the day',
] as const;
export type BadReason = (typeof badReasons)[number];

// docs/rules.md#time-zones: names exactly as the IANA database spells them. Factory means "not set up".
const zones = new Set(Object.keys(tzdata.zones).filter((name) => name !== 'Factory'));

/** Whether a decoded record is good. `value` null is a tombstone; its key is checked too. */
export function badRecord(topic: TopicName, key: string, value: AnyRecord | null): BadReason | null {
  if (value === null) return keyFault(topic, key);
  if (dayIsOutside(topic, value)) return 'day outside years 0001 to 9999';
  if (!isKeyOf(topic, key, value)) return keyFault(topic, key) ?? 'key disagrees with value';
  return fieldsFault(topic, value) ?? contentFault(topic, value);
}

function dayIsOutside(topic: TopicName, value: AnyRecord): boolean {
  if (topic !== 'nights' && topic !== 'attendance') return false;
  const { day } = value as Night | Attendance;
  return day < dayMin || day > dayMax;
}

/** What is wrong with the value, apart from the key. */
function contentFault(topic: TopicName, value: AnyRecord): BadReason | null {
  switch (topic) {
    case 'metros':
      return zones.has((value as Metro).time_zone) ? null : 'time zone is not in the IANA database';
    case 'rides':
      return urlFault((value as Ride).url);
    case 'nights':
      return timeFault((value as Night).meet_time) ?? urlFault((value as Night).url);
    default:
      return null;
  }
}

// docs/rules.md#urls
const urlFault = (url: string): BadReason | null => (urlPattern.test(url) ? null : 'url does not match its pattern');
// docs/rules.md#days-and-times
const timeFault = (time: number | null): BadReason | null =>
  time !== null && (time < 0 || time >= 86_400_000) ? 'time outside the day' : null;
