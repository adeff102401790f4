/** Days as in the log: whole days since 1970-01-01, in the years 0001 to 9999. */
export const dayMin = -719_162;
export const dayMax = 2_932_896;

const texts = new Map<number, string>();

/** `YYYY-MM-DD` of a day. */
export function dayText(day: number): string {
  let text = texts.get(day);
  if (text === undefined) {
    text = new Date(day * 86_400_000).toISOString().slice(0, 10);
    if (texts.size < 100_000) texts.set(day, text);
  }
  return text;
}

/** The day of a `YYYY-MM-DD` that exists, in the years 0001 to 9999. Otherwise null. */
export function parseDay(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const day = Date.parse(`${text}T00:00:00Z`) / 86_400_000;
  // In some engines Date.parse reads 2026-02-30 as 2 March. Only a date that is formatted the same exists.
  return day >= dayMin && day <= dayMax && dayText(day) === text ? day : null;
}
