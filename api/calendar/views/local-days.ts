import { memoize } from '../../messages/memoize.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** A period in which a zone's local date does not change. Milliseconds since the epoch; `until` is excluded. */
interface Stretch {
  from: number;
  until: number;
  /** Local date, days since 1970-01-01. */
  day: number;
}

const stretches = new Map<string, Stretch[]>();

/**
 * The local date in a zone at an instant, as days since 1970-01-01.
 *
 * A date is not offset and division: clocks jump, and in St John's they went back over midnight into the day before,
 * until 2010. So dates are computed for periods that end at midnight or where the zone's offset changes, and the periods
 * are cached.
 */
export const dayAt = (zone: string, ms: number): number => stretchAt(zone, ms).day;

/** Whether a night is past on a local date: from the midnight after its day on (docs/rules.md#past). */
export const isPast = (day: number, today: number): boolean => day < today;

/**
 * Seconds, rounded down, from an instant to the first local midnight (or clock jump) whose new date satisfies `changes`.
 * At most `secondsMax`.
 */
export function secondsUntil(zone: string, ms: number, secondsMax: number, changes: (day: number) => boolean): number {
  const end = ms + secondsMax * 1000;
  for (let at = stretchAt(zone, ms).until; at < end; ) {
    const stretch = stretchAt(zone, at);
    if (changes(stretch.day)) return Math.floor((at - ms) / 1000);
    at = stretch.until;
  }
  return secondsMax;
}

function stretchAt(zone: string, ms: number): Stretch {
  let known = stretches.get(zone);
  if (!known) {
    known = [];
    stretches.set(zone, known);
  }
  for (const stretch of known) if (ms >= stretch.from && ms < stretch.until) return stretch;
  // Today and the next days need only a handful.
  if (known.length > 64) known.length = 0;
  const stretch = findStretch(zone, ms);
  known.push(stretch);
  return stretch;
}

function findStretch(zone: string, ms: number): Stretch {
  const offset = offsetOf(zone, ms);
  const day = Math.floor((ms + offset) / dayMs);
  const midnight = (day + 1) * dayMs - offset;
  for (let from = ms; from < midnight; from += hourMs) {
    const to = Math.min(from + hourMs, midnight);
    if (offsetOf(zone, to) !== offset) return { from: ms, until: firstChange(zone, from, to, offset), day };
  }
  return { from: ms, until: midnight, day };
}

/** The first instant between `from` and `to` at which the offset differs. */
function firstChange(zone: string, from: number, to: number, offset: number): number {
  let before = from;
  let after = to;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetOf(zone, middle) === offset) before = middle;
    else after = middle;
  }
  return after;
}

/** Local time minus UTC, in milliseconds. */
function offsetOf(zone: string, ms: number): number {
  // Such as GMT-07:00, or GMT-07:52:58 before there were standard zones. GMT alone is no offset.
  const text = formatOf(zone).format(ms);
  const [, sign, hours, minutes, seconds = 0] = /GMT([+-])(\d\d):(\d\d):?(\d\d)?$/.exec(text) ?? [];
  const offset = ((Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -offset : offset;
}

const formatOf = memoize((zone) => new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' }));
