import tzdata from 'tzdata' with { type: 'json' };
import { urlPattern } from '../../schemas/events/patterns.ts';
import type { AnyRecord, Attendance, Metro, Night, Ride, TopicName } from '../../schemas/events/records.ts';
import { dayMax, dayMin } from '../../schemas/views/days.ts';

/** What can be wrong with a value, apart from its key (docs/rules.md#what-is-bad). */
export const contentFaults = [
  'time zone is not in the IANA database',
  'url does not match its pattern',
  'day outside years 0001 to 9999',
  'time outside the day',
] as const;
export type ContentFault = (typeof contentFaults)[number];

// docs/rules.md#time-zones: names exactly as the IANA database spells them. Factory means "not set up".
const zones = new Set(Object.keys(tzdata.zones).filter((name) => name !== 'Factory'));

/** Whether a value has a day that no key can have. */
export function dayIsOutside(topic: TopicName, value: AnyRecord): boolean {
  if (topic !== 'nights' && topic !== 'attendance') return false;
  const { day } = value as Night | Attendance;
  return day < dayMin || day > dayMax;
}

/** What is wrong with a value that has the fields of its key, or null. */
export function contentFault(topic: TopicName, value: AnyRecord): ContentFault | null {
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
const urlFault = (url: string): ContentFault | null => (urlPattern.test(url) ? null : 'url does not match its pattern');
// docs/rules.md#days-and-times
const timeFault = (time: number | null): ContentFault | null =>
  time !== null && (time < 0 || time >= 86_400_000) ? 'time outside the day' : null;
