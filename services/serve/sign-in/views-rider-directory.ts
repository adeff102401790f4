import type { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import type { RiderDirectory, SampleRider } from '../../../api/ports/rider-directory.ts';
import { close, type Facts, flagged, follows } from '../../../projector/facts/facts.ts';
import type { RiderNumber } from '../../../projector/facts/numbers.ts';
import { countText } from '../../../projector/running/log.ts';
import { decodeCard, riderKey } from '../../../schemas/views/view-kinds.ts';

/** What sign-in needs to know about riders, from the views. `sample`: riders to pick from, in the embedded default. */
export const riderDirectory = (cache: ViewCache, sample: (count: number) => SampleRider[]): RiderDirectory => ({
  async card(rider) {
    const [found] = await cache.load([riderKey(rider)]);
    if (found!.value === null) return null;
    const { handle, name } = decodeCard(found!.value).header;
    return { handle, name };
  },
  sample: async (count) => sample(count),
});

/** The riders with the most to see: of those who follow and flagged somebody, the ones with the most RSVPs. */
export function liveliestRiders(facts: Facts, count: number): SampleRider[] {
  const { riders, riderIds, attendance, relations, led } = facts;
  const liveliest: { rider: RiderNumber; kinds: number; answers: number }[] = [];
  const others = (rider: RiderNumber, mask: number): number =>
    Array.from({ length: relations.length(rider) }, (_, i) => relations.bits(rider, i)).filter((bits) => bits & mask)
      .length;
  const sees = (rider: RiderNumber): string =>
    [
      `follows ${others(rider, follows)}`,
      countText(others(rider, close), 'close friend'),
      `${others(rider, flagged)} flagged`,
      countText(attendance.length(rider), 'RSVP'),
      `leads ${countText(led.get(rider)?.size ?? 0, 'ride')}`,
    ].join(', ');
  for (const rider of riderIds.numbers()) {
    if (!facts.riderExists(rider)) continue;
    const kinds = [follows, flagged].filter((mask) => others(rider, mask) > 0).length;
    liveliest.push({ rider, kinds, answers: attendance.length(rider) });
  }
  return liveliest
    .sort((a, b) => b.kinds - a.kinds || b.answers - a.answers || a.rider - b.rider)
    .slice(0, count)
    .map(({ rider }) => ({
      rider: riderIds.text(rider),
      handle: riders[rider]!.handle,
      name: riders[rider]!.name || null,
      sees: sees(rider),
    }));
}
