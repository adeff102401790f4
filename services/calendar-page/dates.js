// A date is a text, YYYY-MM-DD. A day belongs to a metro: its local date, whatever zone the visitor is in.

const utc = (day) => new Date(`${day}T00:00:00Z`);

/** The local date in an IANA time zone at an instant. The Swedish locale writes dates as ISO 8601 does. */
export const localDate = (zone, now) => new Intl.DateTimeFormat('sv', { timeZone: zone }).format(now);

export const addDays = (day, count) => new Date(utc(day).getTime() + count * 86_400_000).toISOString().slice(0, 10);

/** Whether a text is a date that exists. */
export const isDay = (text) => /^\d{4}-\d\d-\d\d$/.test(text) && utc(text) < Infinity && addDays(text, 0) === text;

const format = new Intl.DateTimeFormat('en', { timeZone: 'UTC', weekday: 'long', month: 'long', day: 'numeric' });

/** `Today: Thursday, November 26`, and `Thursday, November 26 2015` where that is far off. */
export function dayInWords(day, today) {
  const near =
    { [today]: 'Today: ', [addDays(today, 1)]: 'Tomorrow: ', [addDays(today, -1)]: 'Yesterday: ' }[day] ?? '';
  return near + format.format(utc(day)) + (day.slice(0, 4) === today.slice(0, 4) ? '' : ` ${day.slice(0, 4)}`);
}
