import type { Facts } from '../projector/facts.ts';
import { publishedNight } from '../projector/views/night.ts';
import { dayText } from '../schemas/days.ts';

/** Somewhere to look first: the metro-day with the most nights of the coming week, or the nearest one with any. */
export function firstDay(facts: Facts, nowMs: number): { metro: string; day: string; ride: string } | null {
  const today = Math.floor(nowMs / 86_400_000);
  let best: { metro: string; day: number; ride: string; score: number } | null = null;
  for (const [metroDay, numbers] of facts.nightsOfDay) {
    const slash = metroDay.lastIndexOf('/');
    const day = Number(metroDay.slice(slash + 1));
    const nights = [...numbers].map((number) => publishedNight(facts, number)).filter((night) => night !== null);
    if (nights.length === 0) continue;
    const away = day - today;
    const score = away >= 0 && away < 7 ? nights.length * 100 - away : -Math.abs(away);
    if (best && (score < best.score || (score === best.score && metroDay > `${best.metro}/${best.day}`))) continue;
    best = { metro: metroDay.slice(0, slash), day, ride: nights[0]!.ride.ride, score };
  }
  return best && { metro: best.metro, day: dayText(best.day), ride: best.ride };
}
