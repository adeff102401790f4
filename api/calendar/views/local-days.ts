import { memoize } from '../../messages/memoize.ts';

const dayMs = 86_400_000;

/** A period in which a zone's local date does not change. Milliseconds since the epoch; `until` is excluded. */
interface Stretch {
  from: number;
  until: number;
  /** Local date, days since 1970-01-01. */
  day: number;
}

/**
 * The local date in a zone at an instant, as days since 1970-01-01.
 *
 * A date is not offset and division: clocks jump, and in St John's they went back over midnight into the day before,
 * until 2010. So dates are computed for periods that end at midnight or where the zone's offset changes, and the periods
 * are cached.
 */
export const dayAt = (zone: string, ms: number): number => zoneOf(zone).stretchAt(ms).day;

/** Whether a night is past on a local date: from the midnight after its day on (docs/rules.md#past). */
export const isPast = (day: number, today: number): boolean => day < today;

/** Whole seconds to the first local midnight or clock jump whose new date satisfies `changes`; `secondsMax` at most. */
export function secondsUntil(zone: string, ms: number, secondsMax: number, changes: (day: number) => boolean): number {
  const days = zoneOf(zone);
  const end = ms + secondsMax * 1000;
  for (let at = days.stretchAt(ms).until; at < end; ) {
    const { day, until } = days.stretchAt(at);
    if (changes(day)) return Math.floor((at - ms) / 1000);
    at = until;
  }
  return secondsMax;
}

/**
 * The instant of a wall time, in milliseconds since the epoch. Of a time that a clock skips the one an hour later, and of one
 * that comes twice the first.
 */
export function instantOf(zone: string, day: number, msOfDay: number): number {
  const wall = day * dayMs + msOfDay;
  const { offsetAt } = zoneOf(zone);
  // By the zone's offset a day before and a day after: they differ only around a change of the clock.
  const [before, after] = [wall - offsetAt(wall - dayMs), wall - offsetAt(wall + dayMs)] as const;
  return offsetAt(before) !== wall - before && offsetAt(after) === wall - after ? after : before;
}

class Zone {
  readonly #format: Intl.DateTimeFormat;
  /** Those used lately. */
  #stretches: Stretch[] = [];

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  stretchAt(ms: number): Stretch {
    for (const stretch of this.#stretches) if (ms >= stretch.from && ms < stretch.until) return stretch;
    const stretch = this.#findStretch(ms);
    // Today and the next days need only a handful.
    this.#stretches = [stretch, ...this.#stretches.slice(0, 63)];
    return stretch;
  }

  #findStretch(ms: number): Stretch {
    const offset = this.offsetAt(ms);
    const day = Math.floor((ms + offset) / dayMs);
    const midnight = (day + 1) * dayMs - offset;
    // No zone changes its clock twice before a midnight.
    let [before, after] = [ms, midnight];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetAt(middle) === offset) before = middle;
      else after = middle;
    }
    return { from: ms, until: after, day };
  }

  /** Local time minus UTC, in milliseconds. */
  readonly offsetAt = (ms: number): number => {
    // Such as GMT-07:00, or GMT-07:52:58 before there were standard zones. GMT alone, as ICU writes it before 78, is none.
    const text = this.#format.format(ms);
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /GMT(?:([+-])(\d\d):(\d\d):?(\d\d)?)?/.exec(text)!;
    const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
    return sign === '-' ? -offset : offset;
  };
}

const zoneOf = memoize((name) => new Zone(name));
