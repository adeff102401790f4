import type { ViewCache } from '../../../api/calendar/view-cache.ts';
import type { RiderDirectory, SampleRider } from '../../../api/tokens/rider-directory.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
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

/** The riders with the most to see: those with the most RSVPs first. */
export function liveliestRiders(facts: Facts, count: number): SampleRider[] {
  const liveliest: { rider: number; answers: number }[] = [];
  for (let rider = 0; rider < facts.riders.length; rider++) {
    if (facts.riderExists(rider)) liveliest.push({ rider, answers: facts.attendance.length(rider) });
  }
  return liveliest
    .sort((a, b) => b.answers - a.answers || a.rider - b.rider)
    .slice(0, count)
    .map(({ rider }) => ({
      rider: facts.riderIds.text(rider),
      handle: facts.riders[rider]!.handle,
      name: facts.riders[rider]!.name || null,
    }));
}
