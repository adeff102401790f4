import tzdata from 'tzdata' with { type: 'json' };
import { districtSlugPattern, idPattern, metroSlugPattern, rideIdPattern } from '../../schemas/events/patterns.ts';
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
} from '../../schemas/events/records.ts';
import { dayMax, dayMin, dayText, parseDay } from '../../schemas/views/days.ts';

/**
 * Why a record is bad, or null (docs/rules.md#what-is-bad). Reasons are a small fixed set: they label a metric. None
 * holds anything of the record.
 */
export type BadReason =
  | 'key does not match its pattern'
  | 'key disagrees with value'
  | 'time zone is not in the IANA database'
  | 'rider related to themself'
  | 'url is not http or https'
  | 'day outside years 0001 to 9999'
  | 'time outside the day';

const urlPattern = /^https?:\/\/[!-~]+$/;

// Zone and Link names exactly as spelled in the IANA database; Factory stands for "not set up".
const zones = new Set(Object.keys(tzdata.zones).filter((name) => name !== 'Factory'));

function nightKeyIsBad(key: string): boolean {
  const slash = key.indexOf('/');
  return !rideIdPattern.test(key.slice(0, slash)) || parseDay(key.slice(slash + 1)) === null;
}

const keyChecks: Record<TopicName, (key: string) => boolean> = {
  metros: (key) => !metroSlugPattern.test(key),
  districts: (key) => !districtSlugPattern.test(key),
  riders: (key) => !idPattern.test(key),
  rides: (key) => !rideIdPattern.test(key),
  nights: nightKeyIsBad,
  attendance(key) {
    const slash = key.lastIndexOf('/');
    return nightKeyIsBad(key.slice(0, slash)) || !idPattern.test(key.slice(slash + 1));
  },
  relations(key) {
    const slash = key.indexOf('/');
    return !idPattern.test(key.slice(0, slash)) || !idPattern.test(key.slice(slash + 1));
  },
  'developer-keys': (key) => !idPattern.test(key),
};

function nightDisagrees(key: string, ride: string, day: number): BadReason | null {
  if (day < dayMin || day > dayMax) return 'day outside years 0001 to 9999';
  return key === `${ride}/${dayText(day)}` ? null : 'key disagrees with value';
}

const valueChecks: { [T in TopicName]: (key: string, value: AnyRecord) => BadReason | null } = {
  metros(key, value) {
    if ((value as Metro).metro !== key) return 'key disagrees with value';
    return zones.has((value as Metro).time_zone) ? null : 'time zone is not in the IANA database';
  },
  districts: (key, value) => ((value as District).district === key ? null : 'key disagrees with value'),
  riders: (key, value) => ((value as Rider).rider === key ? null : 'key disagrees with value'),
  rides(key, value) {
    if ((value as Ride).ride !== key) return 'key disagrees with value';
    return urlPattern.test((value as Ride).url) ? null : 'url is not http or https';
  },
  nights(key, value) {
    const night = value as Night;
    const disagreement = nightDisagrees(key, night.ride, night.day);
    if (disagreement) return disagreement;
    if (night.meet_time !== null && (night.meet_time < 0 || night.meet_time >= 86_400_000)) {
      return 'time outside the day';
    }
    return urlPattern.test(night.url) ? null : 'url is not http or https';
  },
  attendance(key, value) {
    const { ride, day, rider } = value as Attendance;
    if (day < dayMin || day > dayMax) return 'day outside years 0001 to 9999';
    // Piece by piece: this runs for every answer of every rider, and joining texts would cost more than the rest.
    const night = ride.length + 11;
    return key.length === night + 1 + rider.length &&
      key.startsWith(ride) &&
      key.charCodeAt(ride.length) === 47 &&
      key.startsWith(dayText(day), ride.length + 1) &&
      key.charCodeAt(night) === 47 &&
      key.endsWith(rider)
      ? rideIdPattern.test(ride) && idPattern.test(rider)
        ? null
        : 'key does not match its pattern'
      : 'key disagrees with value';
  },
  relations(key, value) {
    const { rider, other } = value as Relation;
    if (
      key.length !== rider.length + 1 + other.length ||
      !key.startsWith(rider) ||
      key.charCodeAt(rider.length) !== 47 ||
      !key.endsWith(other)
    ) {
      return 'key disagrees with value';
    }
    if (!idPattern.test(rider) || !idPattern.test(other)) return 'key does not match its pattern';
    return rider === other ? 'rider related to themself' : null;
  },
  'developer-keys': (key, value) => ((value as DeveloperKey).key_id === key ? null : 'key disagrees with value'),
};

/** Whether a record that could be decoded is a good one. `value` null: a tombstone, whose key is checked all the same. */
export function badRecord(topic: TopicName, key: string, value: AnyRecord | null): BadReason | null {
  // The two largest topics check their patterns on the value's fields, once they agree with the key.
  if (value !== null && (topic === 'attendance' || topic === 'relations')) return valueChecks[topic](key, value);
  if (keyChecks[topic](key)) return 'key does not match its pattern';
  return value === null ? null : valueChecks[topic](key, value);
}
