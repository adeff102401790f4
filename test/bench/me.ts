import { signSampleToken } from '../../api/sign-in/tokens/sample-token.ts';
import { dayText } from '../../schemas/views/days.ts';
import { loadSigningKeys } from '../../services/settings/sign-in-files.ts';
import { liveKey, marks, night, place, metro as recordOfMetro, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { baseUrl, type Route, startServices } from './answers.ts';
import type { Bench, Figures } from './versions.ts';

/**
 * A metro in which each reader has nights of their own and 60 friends. Some of the friends go to each of 60 nights within
 * 31 days. Readers have different friends, so no answer is that of another reader.
 */

const metro = 'benchville';
const readerCount = 64;
const poolSize = 240;
const friendsOfAReader = 60;
/** From 30 days before today to 60 days after it, two rides a day. */
const daysBefore = 30;
const daysAfter = 60;
const ridesADay = 2;
/** A rider goes to every sixth ride of the pool, a reader to every fourth. */
const riderGoesTo = 6;
const readerGoesTo = 4;

const today = Math.floor(Date.now() / 86_400_000);
const rangeDays = 31;
const from = dayText(today + 1);
const to = dayText(today + rangeDays);
/** A public day of about 4 kB, beyond the riders' own windows. */
const fullDay = today + 100;
const nightsOfFullDay = 10;
const fullDayPath = `/metros/${metro}/days/${dayText(fullDay)}`;

const riderOf = (i: number): string => `rider-${String(i).padStart(4, '0')}-of-the-pool`;
const readers: readonly string[] = Array.from({ length: readerCount }, (_, i) => `reader-${i}`);

const firstNames = ['Ada', 'Benoît', 'Chiyo', 'Dmitri', 'Eloise', 'Fatuma', 'Gwen', 'Hal'];
const lastNames = ['Sparrow', 'Lindqvist', 'Okafor', 'Marsh', 'Pereira', 'Yamada', 'Underhill'];

const developerKey = `rck_${'m'.repeat(43)}`;

function* meWorld(): Generator<LoggedRecord> {
  yield* [recordOfMetro(metro, { time_zone: 'Europe/Berlin' }), liveKey(developerKey)];
  for (let i = 0; i < poolSize; i++) {
    const name = `${firstNames[i % firstNames.length]} ${lastNames[i % lastNames.length]}`;
    yield rider(riderOf(i), { handle: `handle_${i}`, name: i % 9 === 0 ? null : name });
  }
  for (const [i, reader] of readers.entries()) {
    yield rider(reader, { handle: `reader_${i}`, name: null });
    for (let f = 0; f < friendsOfAReader; f++) {
      const also = [f % 5 === 0 && 'close', f % 20 === 0 && 'flagged'] as const;
      yield marks(reader, riderOf((i * 31 + f * 7) % poolSize), 'follows', ...also.filter((mark) => mark !== false));
    }
  }
  let n = 0;
  for (let day = today - daysBefore; day <= today + daysAfter; day++) {
    for (let of = 0; of < ridesADay; of++) yield* rideAndNight(n++, day);
  }
  for (let of = 0; of < nightsOfFullDay; of++) yield* rideAndNight(n++, fullDay);
}

function* rideAndNight(n: number, day: number): Generator<LoggedRecord> {
  const id = `bench${String(n).padStart(3, '0')}`;
  const date = dayText(day);
  yield ride(id, { title: `A ride of some kind to the river, number ${n}`, metro });
  const where = place({ place_name: 'Under the bridge', show_neighbourhood: true });
  yield night(id, date, { meet_time: 68_400_000, ...where });
  for (let i = 0; i < poolSize; i++) if ((i * 13 + n) % riderGoesTo === 0) yield says(riderOf(i), 'GOING', id, date);
  for (const [i, reader] of readers.entries()) if ((i + n) % readerGoesTo === 0) yield says(reader, 'GOING', id, date);
}

const publicDay = 'public day';

/** CPU time of the API process for riders' own answers from Redis, as 64 riders, and for a public day beside them. */
export const me: Bench = {
  async prepare(versions, _, ended) {
    const services = await startServices(versions, ['Redis'], meWorld(), ended);
    const keys = await loadSigningKeys(null, services.dir);
    const issuer = new URL(baseUrl).origin;
    const tokens = await Promise.all(
      readers.map((rider) => signSampleToken({ rider, keys, issuer, audience: baseUrl, lifetimeSeconds: 86_400 })),
    );
    const asReaders = (path: string) =>
      tokens.map((token) => ({ path: `/api${path}`, headers: { Authorization: `Bearer ${token}` } }));
    const routes: (Route & { aim?: string })[] = [
      {
        name: publicDay,
        requests: [{ path: `/api${fullDayPath}`, headers: { 'X-Api-Key': developerKey } }],
        status: 200,
      },
      { name: '/me/nights', requests: asReaders('/me/nights'), status: 200 },
      {
        name: '/me/friends',
        aim: '12',
        requests: asReaders(`/me/friends?metro=${metro}&from=${from}&to=${to}`),
        status: 200,
      },
    ];
    for (const route of routes) await services.assertSame(route);
    return {
      title: `Riders' own answers from Redis: CPU time of an answer, ${readers.length} riders`,
      rows: routes.map(({ name, aim }) => ({ name, unit: 'µs', ...(name !== publicDay && { to: publicDay, aim }) })),
      async measure(version) {
        const figures: Figures = {};
        for (const route of routes)
          figures[route.name] = await services.cpuMicros(services.of(version, 'Redis'), route);
        return figures;
      },
    };
  },
};
