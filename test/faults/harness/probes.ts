import type { AnyRecord } from '../../../schemas/events/records.ts';
import { gone, liveKey, marks, night, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import type { EventOf } from '../history.ts';

/** Entities whose records carry a growing number that answers show, and the paths that show them. */

type Shows = EventOf<'answer'>['shows'];
type Version = NonNullable<EventOf<'publish'>['version']>;

/** A record to publish, and which version of a probe it is, if of any. */
export interface Change extends LoggedRecord {
  version: Version | null;
}

/** Who asks for a path: with the developer key that always lives, with one that comes and goes, or as the rider. */
export type Asker = 'main key' | 'other key' | 'rider';

export interface AskedPath {
  path: string;
  as: Asker;
  /** The probes whose version it shows as long as they are there. */
  probes: readonly string[];
  /** Which probes an answer shows, of those that it has to. */
  shows(status: number, body: string): Shows;
}

const keys = { 'main key': `rck_${'m'.repeat(43)}`, 'other key': `rck_${'o'.repeat(43)}` };
export const keyHeaders = (as: keyof typeof keys): Record<string, string> => ({ 'X-Api-Key': keys[as] });
export const reader = 'faults-reader';
const friend = 'faults-friend';
const date = '2015-06-20';
const town = 'portland';
const titled = ['title1', 'title2', 'title3', 'comes', 'mine'] as const;

type Titled = (typeof titled)[number];

const titledRide = (id: Titled, n: number): LoggedRecord =>
  ride(id, { title: `${id} ${n}`, metro: town, leaders: id === 'mine' ? [reader] : [] });

/** What the probes need to be seen, and their first versions. */
export function* firstRecords(): Generator<Change> {
  const plain = (record: LoggedRecord): Change => ({ ...record, version: null });
  yield { ...liveKey(keys['main key'], 'main-key'), version: { probe: 'main-key', n: 1, gone: false } };
  for (const id of [reader, friend]) yield plain(rider(id));
  yield plain(marks(reader, friend, 'follows'));
  yield plain(says(friend, 'GOING', 'mine', date));
  yield plain(ride('rsvps', { metro: town, title: 'rsvps' }));
  for (const id of [...titled, 'rsvps']) yield plain(night(id, date));
  for (const name of probeNames) yield* probes[name](1);
}

/** The n-th version of a probe. */
const probes = {
  ...Object.fromEntries(titled.map((id) => [id, (n: number) => [versionOf(id, n, titledRide(id, n))]])),
  // Every other record is a tombstone.
  comes: (n) => [versionOf('comes', n, n % 2 === 0 ? gone('rides', 'comes') : titledRide('comes', n))],
  // Its number is that of the riders who go.
  rsvps: (n) => [
    { ...rider(`faults-${n}`), version: null },
    versionOf('rsvps', n, says(`faults-${n}`, 'GOING', 'rsvps', date)),
  ],
  'other-key': (n) => {
    const record = n % 2 === 0 ? gone('developer-keys', 'other-key') : liveKey(keys['other key'], 'other-key');
    return [versionOf('other-key', n, record)];
  },
} as Record<ProbeName, (n: number) => Change[]>;

type ProbeName = Titled | 'rsvps' | 'other-key';

/** In this order over and over: those that cost more, or that are the more telling the longer they last, less often. */
const probeNames = [...titled, 'rsvps', 'other-key'] as const satisfies ProbeName[];
const everyNth: Partial<Record<ProbeName, number>> = { rsvps: 6, 'other-key': 30 };

const versionOf = (probe: string, n: number, record: LoggedRecord): Change => ({
  ...record,
  value: record.value && ({ ...record.value, revision: n } as AnyRecord),
  version: { probe, n, gone: record.value === null },
});

/** New versions without an end, one probe after the other. */
export function* nextVersions(): Generator<Change[]> {
  const last = new Map<ProbeName, number>(probeNames.map((name) => [name, 1]));
  for (let round = 1; ; round++) {
    for (const name of probeNames) {
      if (round % (everyNth[name] ?? 1) !== 0) continue;
      const n = last.get(name)! + 1;
      last.set(name, n);
      yield probes[name](n);
    }
  }
}

interface ShownNight {
  ride: string;
  title: string;
  going_count: number;
}

/** The version of a probe that its night shows, if it is one. */
function shownIn(nights: readonly ShownNight[], id: string): number | false {
  const found = nights.find((each) => each.ride === id);
  if (!found) return false;
  if (id === 'rsvps') return found.going_count || false;
  return Number(/ (\d+)$/.exec(found.title)?.[1] ?? 0) || false;
}

/** `nightsIn` finds nights in a body. Without a 200 all of them are absent, and after a 503 nothing is known. */
function showing(ids: readonly string[], nightsIn: (body: never) => readonly ShownNight[]) {
  return (status: number, body: string): Shows => {
    if (status !== 200 && status !== 404 && status !== 401) return {};
    const nights = status === 200 ? nightsIn(JSON.parse(body) as never) : [];
    return Object.fromEntries(ids.map((id) => [id, shownIn(nights, id)]));
  };
}

const withKey = (path: string, probes: readonly string[], shows: AskedPath['shows']): AskedPath => ({
  path,
  as: 'main key',
  probes,
  shows: (status, body) => ({
    ...(status === 401 ? { 'main-key': false } : { ...shows(status, body), ...(status < 500 && { 'main-key': true }) }),
  }),
});

/** Those of one day in one town. */
const ofTown = [...titled, 'rsvps'];

/** A page of a ride shows its title also where its night is not there. */
const ofRide = (id: string): AskedPath =>
  withKey(
    `/rides/${id}`,
    [id],
    showing([id], (body: { title: string; nights: ShownNight[] }) =>
      id === 'rsvps' ? body.nights : [{ ...body.nights[0]!, ride: id, title: body.title }],
    ),
  );

const ofFriends = `/me/friends?metro=${town}&from=2015-06-13&to=2015-06-27`;
const dayOf = (body: { nights: ShownNight[] }) => body.nights;
const mine = (body: { nights: { night: ShownNight }[] }) => body.nights.map((each) => each.night);

/** What readers ask for. */
export const askedPaths: readonly AskedPath[] = [
  ...ofTown.map(ofRide),
  withKey(`/metros/${town}/days/${date}`, ofTown, showing(ofTown, dayOf)),
  {
    path: `/metros/${town}/days/2015-06-14`,
    as: 'other key',
    probes: [],
    shows: (status) => (status < 500 ? { 'other-key': status === 200 } : {}),
  },
  { path: '/me/nights', as: 'rider', probes: ['mine'], shows: showing(['mine'], mine) },
  { path: ofFriends, as: 'rider', probes: ['mine'], shows: showing(['mine'], mine) },
];
