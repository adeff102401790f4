/** Days as in the log: whole days since 1970-01-01, in the years 0001 to 9999. */
export const dayMin = -719_162;
export const dayMax = 2_932_896;

const texts = new Map<number, string>();

/** A day's `YYYY-MM-DD`, e.g. `2015-06-13` for 16,599. */
export function dayText(day: number): string {
  let text = texts.get(day);
  if (text === undefined) {
    text = new Date(day * 86_400_000).toISOString().slice(0, 10);
    if (texts.size < 100_000) texts.set(day, text);
  }
  return text;
}

/** The Monday of a day's week, e.g. 16,594 for 16,599. Day 0 was a Thursday. */
export const weekOf = (day: number): number => day - ((((day + 3) % 7) + 7) % 7);

/** The length of `YYYY-MM-DD`. */
export const dayTextLength = 10;
const dash = 45;
const daysOfMonths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** The day of a `YYYY-MM-DD` at a position in bytes, in the years 0001 to 9999. NaN if there is no such day. */
export function dayOfBytes(bytes: Uint8Array, start: number): number {
  const year = 100 * twoDigits(bytes, start) + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  // Comparisons with NaN are false.
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1)) return Number.NaN;
  if (bytes[start + 4] !== dash || bytes[start + 7] !== dash) return Number.NaN;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (day > daysOfMonths[month - 1]! + (isLeap && month === 2 ? 1 : 0)) return Number.NaN;
  // Years begin in March here, so that a leap day is the last of its year.
  const y = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - marchOfYear0;
}

/** Days from 1 March of the year 0 to 1970-01-01. */
const marchOfYear0 = 719_468;

/** The number of two decimal digits, e.g. 13. NaN for anything else. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - 48;
  const ones = bytes[at + 1]! - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN;
}

/** The day of a `YYYY-MM-DD` in the years 0001 to 9999. Null if there is no such day, e.g. for `2015-02-29`. */
export function parseDay(text: string): number | null {
  const bytes = Buffer.from(text);
  const day = bytes.length === dayTextLength ? dayOfBytes(bytes, 0) : Number.NaN;
  return Number.isNaN(day) ? null : day;
}
