import type { AnyRecord } from '../../../schemas/events/records.ts';
import { gone, liveKey, marks, night, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import type { EventOf } from '../history.ts';

/** Entities whose records carry a growing number that answers show, and the paths that show them. */

type Shows = EventOf<'answer'>['shows'];

/** A record to publish, and which version of a probe it is, if of any. */
export interface Change extends LoggedRecord {
  version: EventOf<'publish'>['version'];
}

/** With the developer key that always lives, with one that comes and goes, or as the rider. Keys are probes, too. */
export type Asker = 'main-key' | 'other-key' | 'rider';

export interface AskedPath {
  path: string;
  as: Asker;
  /** Which probes an answer shows, of those that it has to. */
  shows(status: number, body: string): Shows;
}

const keys = { 'main-key': `rck_${'m'.repeat(43)}`, 'other-key': `rck_${'o'.repeat(43)}` };
export const keyHeaders = (as: keyof typeof keys): Record<string, string> => ({ 'X-Api-Key': keys[as] });
export const reader = 'faults-reader';
const friend = 'faults-friend';
const date = '2015-06-20';
const town = 'portland';
/** Those whose number every reader is shown, all the time. */
export const steadyProbes = ['title1', 'title2', 'title3', 'mine', 'rsvps'];
/** Those of one day in one town. */
const ofTown = [...steadyProbes, 'comes'];

const plain = (record: LoggedRecord): Change => ({ ...record, version: null });

const versionOf = (probe: string, n: number, record: LoggedRecord): Change => ({
  ...record,
  value: record.value && ({ ...record.value, revision: n } as AnyRecord),
  version: { probe, n, gone: record.value === null },
});

const titled = (id: string) => (n: number) => {
  const shown = ride(id, { title: `${id} ${n}`, metro: town, leaders: id === 'mine' ? [reader] : [] });
  // Every other record is a tombstone.
  return [versionOf(id, n, id === 'comes' && n % 2 === 0 ? gone('rides', id) : shown)];
};
const otherKey = (n: number): LoggedRecord =>
  n % 2 === 0 ? gone('developer-keys', 'other-key') : liveKey(keys['other-key'], 'other-key');

/** The n-th version of each; every so many rounds, those less often that cost more, or tell more the longer they last. */
const probes: readonly { every: number; version(n: number): Change[] }[] = [
  ...['title1', 'title2', 'title3', 'comes', 'mine'].map((id) => ({ every: 1, version: titled(id) })),
  {
    // Its number is that of the riders who go.
    every: 6,
    version: (n) => [plain(rider(`faults-${n}`)), versionOf('rsvps', n, says(`faults-${n}`, 'GOING', 'rsvps', date))],
  },
  { every: 30, version: (n) => [versionOf('other-key', n, otherKey(n))] },
];

/** What the probes need to be seen, and their first versions. */
export const firstRecords = (): Change[] => [
  versionOf('main-key', 1, liveKey(keys['main-key'], 'main-key')),
  ...[rider(reader), rider(friend), marks(reader, friend, 'follows'), says(friend, 'GOING', 'mine', date)].map(plain),
  plain(ride('rsvps', { metro: town, title: 'rsvps' })),
  ...ofTown.map((id) => plain(night(id, date))),
  ...probes.flatMap(({ version }) => version(1)),
];

/** New versions without an end, one probe after the other. */
export function* nextVersions(): Generator<Change[], never> {
  for (let round = 1; ; round++)
    for (const { every, version } of probes) if (round % every === 0) yield version(1 + round / every);
}

interface ShownNight {
  ride: string;
  title: string;
  going_count: number;
}

/** The version of a probe that its night shows, if it is one. */
function shownIn(nights: readonly ShownNight[], id: string): number | false {
  const found = nights.find((each) => each.ride === id);
  if (id === 'rsvps') return found?.going_count || false;
  return Number(/ (\d+)$/.exec(found?.title ?? '')?.[1] ?? 0) || false;
}

/** `nightsIn` finds nights in a body. Without a 200 all of them are absent, and after a 503 nothing is known. */
const asked = (
  as: Asker,
  path: string,
  ids: readonly string[],
  nightsIn: (body: never) => readonly ShownNight[],
): AskedPath => ({
  path,
  as,
  shows(status, body) {
    if (![200, 401, 404].includes(status)) return {};
    const key: Shows = as === 'rider' ? {} : { [as]: status !== 401 };
    if (key[as] === false) return key;
    const nights = status === 200 ? nightsIn(JSON.parse(body) as never) : [];
    return { ...key, ...Object.fromEntries(ids.map((id) => [id, shownIn(nights, id)])) };
  },
});

const dayPath = (day: string) => `/metros/${town}/days/${day}`;
const ofFriends = `/me/friends?metro=${town}&from=2015-06-13&to=2015-06-27`;
const dayOf = (body: { nights: ShownNight[] }) => body.nights;
const mine = (body: { nights: { night: ShownNight }[] }) => body.nights.map((each) => each.night);
/** A page of a ride shows its title also where its night is not there. */
const ofRide = (id: string) => (body: { title: string; nights: ShownNight[] }) =>
  id === 'rsvps' ? body.nights : [{ ...body.nights[0]!, ride: id, title: body.title }];

/** What readers ask for: probes, and days that no fault should touch. */
export const askedPaths: readonly AskedPath[] = [
  ...ofTown.map((id) => asked('main-key', `/rides/${id}`, [id], ofRide(id))),
  asked('main-key', dayPath(date), ofTown, dayOf),
  ...['2015-06-12', '2015-06-13'].map((day) => asked('main-key', dayPath(day), [], dayOf)),
  asked('other-key', dayPath('2015-06-14'), [], dayOf),
  asked('rider', '/me/nights', ['mine'], mine),
  asked('rider', ofFriends, ['mine'], mine),
];
