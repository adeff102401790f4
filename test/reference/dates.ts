/** Dates as day numbers (days since 1970-01-01) and as texts YYYY-MM-DD; local dates by the platform's own zone data. */

const dayMs = 86_400_000;

export const firstDay = dayNumber(1, 1, 1);
export const lastDay = dayNumber(9999, 12, 31);

function dayNumber(year: number, month: number, dayOfMonth: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, dayOfMonth);
  return date.getTime() / dayMs;
}

/** `2015-06-13` of a day number within years 0001 to 9999. */
export function dayText(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10);
}

/** The day number of a date that exists, years 0001 to 9999; null for any other text. */
export function dayOf(text: string): number | null {
  const found = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (!found) return null;
  const day = dayNumber(Number(found[1]), Number(found[2]), Number(found[3]));
  if (day < firstDay || day > lastDay) return null;
  // Date takes February 30 for March 2: only a date that comes back as it went in exists.
  return dayText(day) === text ? day : null;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The day number of the local date in a zone at an instant (milliseconds since the epoch). */
export function localDay(zone: string, instantMs: number): number {
  const fields = { era: 'short', year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en-US-u-ca-gregory', { timeZone: zone, ...fields });
  formats.set(zone, format);
  const parts = Object.fromEntries(format.formatToParts(instantMs).map(({ type, value }) => [type, value]));
  const year = parts.era === 'BC' ? 1 - Number(parts.year) : Number(parts.year);
  return dayNumber(year, Number(parts.month), Number(parts.day));
}
