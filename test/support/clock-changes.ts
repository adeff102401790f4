import tzdata from 'tzdata' with { type: 'json' };

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Every Zone and Link name of the IANA database, but for Factory. */
export const everyZone: readonly string[] = Object.keys(tzdata.zones)
  .filter((zone) => zone !== 'Factory')
  .toSorted();

/** Local clock less UTC in minutes, by the platform's own zone data. */
function offsetMinutes(format: Intl.DateTimeFormat, ms: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(ms)) parts[type] = Number(value);
  const { year, month, day, hour, minute } = parts as Record<'year' | 'month' | 'day' | 'hour' | 'minute', number>;
  return Math.round((Date.UTC(year, month - 1, day, hour, minute) - ms) / minuteMs);
}

/** Instants at which a zone's clock was put forward or back within some years, to the minute. */
export function clockChanges(zone: string, fromYear: number, toYear: number): number[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const changes: number[] = [];
  const step = 10 * dayMs;
  const end = Date.UTC(toYear, 11, 31);
  let before = Date.UTC(fromYear, 0, 1);
  let offset = offsetMinutes(format, before);
  for (let at = before + step; at < end; at += step) {
    const next = offsetMinutes(format, at);
    if (next !== offset) {
      let [low, high] = [before, at];
      while (high - low > minuteMs) {
        const middle = low + Math.floor((high - low) / 2 / minuteMs) * minuteMs;
        if (offsetMinutes(format, middle) === offset) low = middle;
        else high = middle;
      }
      changes.push(high);
      offset = next;
    }
    before = at;
  }
  return changes;
}
