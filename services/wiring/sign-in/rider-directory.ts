import type { ViewCache } from '../../../api/calendar/view-cache.ts';
import type { RiderDirectory, SampleRider } from '../../../api/tokens/rider-directory.ts';
import { confirmed, type Facts, flagged, follows, going } from '../../../projector/facts/facts.ts';
import { parseDay } from '../../../schemas/views/days.ts';
import { riderKey } from '../../../schemas/views/view-keys.ts';
import { decodeView, type RiderCard } from '../../../schemas/views/view-values.ts';

/**
 * What sign-in needs to know about riders, from the views. `sample` gives riders to pick from, in the embedded default.
 */
export function riderDirectory(cache: ViewCache, sample: (count: number) => SampleRider[]): RiderDirectory {
  const card = async (rider: string): Promise<RiderCard | null> => {
    const [found] = await cache.load([riderKey(rider)]);
    return found!.value && decodeView<RiderCard>(found!.value).header;
  };
  return {
    exists: async (rider) => (await card(rider)) !== null,
    async card(rider) {
      const found = await card(rider);
      return found && { handle: found.handle, name: found.name };
    },
    sample: async (count) => sample(count),
  };
}

/** So many riders with the most RSVPs are looked at more closely. */
const candidatesMax = 100;
/** As long a range as the documentation's requests ask for. */
const rangeDays = 7;

/**
 * The riders with the most to see: those with the most RSVPs first. Ahead of all others are those who follow and who
 * flagged somebody who is going in the week from a day on. The first requests to try ask about that week.
 */
export function liveliestRiders(facts: Facts, count: number, from: string | undefined): SampleRider[] {
  const liveliest: { rider: number; answers: number }[] = [];
  for (let rider = 0; rider < facts.riders.length; rider++) {
    if (facts.riderExists(rider)) liveliest.push({ rider, answers: facts.attendance.length(rider) });
  }
  const day = from === undefined ? null : parseDay(from);
  return liveliest
    .sort((a, b) => b.answers - a.answers || a.rider - b.rider)
    .slice(0, Math.max(count, candidatesMax))
    .map(({ rider }) => ({ rider, kinds: day === null ? 0 : kindsGoing(facts, rider, day) }))
    .sort((a, b) => b.kinds - a.kinds)
    .slice(0, count)
    .map(({ rider }) => ({
      rider: facts.riderIds.text(rider),
      handle: facts.riders[rider]!.handle,
      name: facts.riders[rider]!.name || null,
    }));
}

/** 0 to 2: whether somebody whom a rider follows is going, and somebody whom they flagged, in the week from a day on. */
function kindsGoing({ relations, attendance, nightDay }: Facts, rider: number, day: number): number {
  const isGoing = (other: number): boolean => {
    for (let i = attendance.firstIndex(other, (night) => nightDay[night]! >= day); i < attendance.length(other); i++) {
      if (nightDay[attendance.id(other, i)]! > day + rangeDays) return false;
      if (attendance.bits(other, i) & (going | confirmed)) return true;
    }
    return false;
  };
  let seen = 0;
  for (let i = 0; i < relations.length(rider); i++) {
    if (isGoing(relations.id(rider, i))) seen |= relations.bits(rider, i);
  }
  return Number((seen & follows) > 0) + Number((seen & flagged) > 0);
}
