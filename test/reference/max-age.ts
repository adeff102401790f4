import { answer } from './answers.ts';
import { localDay } from './dates.ts';
import type { Facts } from './facts.ts';
import type { CalendarRequest } from './requests.ts';

const secondMs = 1000;
// No zone has ever turned its date back within less than a minute of turning it over.
const stepSeconds = 60;

/**
 * How long a public answer may be kept, in seconds: until the next instant at which a `past` in it turns over, rounded
 * down, and `cacheSeconds` at most. Found by looking at every instant on the way.
 */
export function maxAge(facts: Facts, clockMs: number, request: CalendarRequest, cacheSeconds: number): number {
  const found = answer(facts, clockMs, request);
  if (found.status !== 200) throw new Error(`Cannot tell the max-age of a ${found.status}: only a 200 has one.`);
  const nights = (JSON.parse(found.body) as { nights: { day: string; time_zone: string }[] }).nights;
  const zone = nights[0]?.time_zone;
  if (zone === undefined) return cacheSeconds;
  const days = nights.map((night) => Date.parse(night.day) / 86_400_000);
  const pastAt = (instantMs: number): string => {
    const today = localDay(zone, instantMs);
    return days.map((day) => today > day).join();
  };

  const now = pastAt(clockMs);
  for (let seconds = 0; seconds < cacheSeconds; seconds += stepSeconds) {
    if (pastAt(clockMs + (seconds + stepSeconds) * secondMs) === now) continue;
    const firstSecondMs = Math.ceil((clockMs + seconds * secondMs) / secondMs) * secondMs;
    for (let instantMs = firstSecondMs; ; instantMs += secondMs) {
      if (pastAt(instantMs) !== now) return Math.min(cacheSeconds, Math.floor((instantMs - clockMs) / secondMs));
    }
  }
  return cacheSeconds;
}
