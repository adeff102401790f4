// Times of nights, for a website or an app: copy what you need. docs/api-behaviour.md says when.

/** Whether a night has not met yet. One without a time counts until its day is over. */
export function isToCome({ day, meet_time, time_zone }, now = new Date()) {
  const format = { timeZone: time_zone, dateStyle: 'short', timeStyle: 'short' };
  const local = new Intl.DateTimeFormat('sv', format).format(now); // 2026-11-26 19:05
  return `${day} ${meet_time ?? '23:59'}` >= local;
}

/** The instant of a night's wall time, in milliseconds since 1970. */
export function instantOf({ day, meet_time, time_zone }) {
  const format = { timeZone: time_zone, dateStyle: 'short', timeStyle: 'medium' };
  const wall = (ms) => Date.parse(`${new Intl.DateTimeFormat('sv', format).format(ms).replace(' ', 'T')}Z`);
  const wanted = Date.parse(`${day}T${meet_time}Z`);
  // By the zone's offset a day before and a day after: they differ only around a change of the clock.
  const [before, after] = [wanted - 864e5, wanted + 864e5].map((ms) => wanted - (wall(ms) - ms));
  return wall(before) !== wanted && wall(after) === wanted ? after : before;
}
