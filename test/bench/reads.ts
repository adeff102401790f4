import { signSampleToken } from '../../api/sign-in/tokens/sample-token.ts';
import { dayText } from '../../schemas/views/days.ts';
import { loadSigningKeys } from '../../services/settings/sign-in-files.ts';
import { liveKey, marks, night, place, metro as recordOfMetro, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { type Answering, baseUrl, type Route, type Store, startServices } from './answers.ts';
import { benchCalendar, developerKey, filterQueries, largeDayPath, ridePath, smallDayPath } from './bench-calendar.ts';
import type { Used } from './cpu-report.ts';
import { measuredCore, startPinned } from './pinned-process.ts';
import type { Bench, Figures, Row } from './versions.ts';

const stores: readonly Store[] = ['memory', 'Redis'];
const headers = { 'X-Api-Key': developerKey };
const [small, large] = [`/api${smallDayPath}`, `/api${largeDayPath}`];
const filtered = (day: string) => filterQueries.map((query) => ({ path: `${day}?${query}`, headers }));
const whole = (path: string): Omit<Route, 'name'> => ({ requests: [{ path, headers }], status: 200 });

const encoded = { ...headers, 'Accept-Encoding': 'gzip, deflate, br, zstd' };
const encodedDay = 'day of 42 kB, compressed';

/** `aim`: at most so many times the CPU time of the constant. */
const routes: readonly (Route & { aim: string })[] = [
  { name: 'day of 6 kB', aim: '1.33', ...whole(small) },
  { name: 'day of 42 kB', aim: '1.33', ...whole(large) },
  { name: 'day of 6 kB, filtered', aim: '1.67', requests: filtered(small), status: 200 },
  { name: 'the same, new each time', aim: '1.67', requests: filtered(small), unheardOf: true, status: 200 },
  { name: 'day of 42 kB, filtered', aim: '1.67', requests: filtered(large), status: 200 },
  { name: '304', aim: '1.18', ...whole(small), status: 304 },
  { name: encodedDay, aim: '1.11', requests: [{ path: large, headers: encoded }], status: 200 },
  { name: 'ride of 6 kB', aim: '1.33', ...whole(`/api${ridePath}`) },
];
const rowOf = (route: string, store: Store) => `${route}, ${store}`;
const constantOf = (route: string) => `constant for ${route}`;

/** CPU time of the API process for an answer, against a Fastify route that sends a constant Buffer of the same size. */
export const reads: Bench = {
  async prepare(versions, _, ended) {
    const services = await startServices(versions, stores, await benchCalendar(), ended);
    const some = services.of(versions[0]!, 'memory');
    // A version may compress or not: what it compresses is compared as it is.
    for (const route of routes) if (route.name !== encodedDay) await services.assertSame(route);
    const loads = new Map<string, number[]>();
    for (const route of routes) loads.set(route.name, (await services.load(some, route)).bodySizes);
    // A 304 has no body: it is held against the day that it stands for.
    const sizesOf = (name: string) => loads.get(name === '304' ? routes[0]!.name : name)!;
    const process = await startPinned('constant-server.ts', [], measuredCore);
    ended.defer(() => process.end());
    const { port } = await process.ask<{ port: number }>({ sizes: routes.flatMap(({ name }) => sizesOf(name)) });
    const constant: Answering = { port, used: () => process.ask<Used>('used') };
    return {
      title: 'Reads: CPU time of an answer',
      rows: routes.flatMap(({ name, aim }): Row[] => [
        { name: constantOf(name), unit: 'µs' },
        ...stores.map((store) => ({ name: rowOf(name, store), unit: 'µs' as const, to: constantOf(name), aim })),
      ]),
      async measure(version) {
        const figures: Figures = {};
        for (const route of routes) {
          const requests = sizesOf(route.name).map((size) => ({ path: `/${size}` }));
          const bare = { name: constantOf(route.name), requests, status: 200 };
          figures[bare.name] = await services.cpuMicros(constant, bare);
          for (const store of stores)
            figures[rowOf(route.name, store)] = await services.cpuMicros(services.of(version, store), route);
        }
        return figures;
      },
    };
  },
};

/** 64 readers with nights of their own and 60 friends each, never the same. Some of them go to each of 60 nights within 31 days. */

const metro = 'benchville';
const readers = Array.from({ length: 64 }, (_, i) => `reader-${i}`);
const pool = Array.from({ length: 240 }, (_, i) => `rider-${String(i).padStart(4, '0')}-of-the-pool`);
const friendsOfAReader = 60;
/** Two rides a day. A rider goes to every sixth ride of the pool, a reader to every fourth. */
const daysBefore = 30;
const daysAfter = 60;

const today = Math.floor(Date.now() / 86_400_000);
const range = `from=${dayText(today + 1)}&to=${dayText(today + 31)}`;
/** A public day of about 4 kB, beyond the riders' own windows. */
const fullDay = today + 100;
const nightsOfFullDay = 10;

function* meWorld(): Generator<LoggedRecord> {
  yield* [recordOfMetro(metro, { time_zone: 'Europe/Berlin' }), liveKey(developerKey)];
  for (const [i, id] of pool.entries())
    yield rider(id, { handle: `handle_${i}`, name: i % 9 === 0 ? null : `Chiyo Lindqvist ${i}` });
  for (const [i, reader] of readers.entries()) {
    yield rider(reader, { handle: `reader_${i}`, name: null });
    for (let f = 0; f < friendsOfAReader; f++) {
      const also = [f % 5 === 0 && 'close', f % 20 === 0 && 'flagged'] as const;
      const friend = pool[(i * 31 + f * 7) % pool.length]!;
      yield marks(reader, friend, 'follows', ...also.filter((mark) => mark !== false));
    }
  }
  const days = Array.from({ length: daysBefore + 1 + daysAfter }, (_, i) => today - daysBefore + i);
  const nights = [...days.flatMap((day) => [day, day]), ...Array<number>(nightsOfFullDay).fill(fullDay)];
  for (const [n, day] of nights.entries()) yield* rideAndNight(n, dayText(day));
}

function* rideAndNight(n: number, date: string): Generator<LoggedRecord> {
  const id = `bench${String(n).padStart(3, '0')}`;
  yield ride(id, { title: `A ride of some kind to the river, number ${n}`, metro });
  const where = place({ place_name: 'Under the bridge', show_neighbourhood: true });
  yield night(id, date, { meet_time: 68_400_000, ...where });
  for (const [i, each] of pool.entries()) if ((i * 13 + n) % 6 === 0) yield says(each, 'GOING', id, date);
  for (const [i, each] of readers.entries()) if ((i + n) % 4 === 0) yield says(each, 'GOING', id, date);
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
    const publicly = { path: `/api/metros/${metro}/days/${dayText(fullDay)}`, headers };
    const routes: (Route & { aim?: string })[] = [
      { name: publicDay, requests: [publicly], status: 200 },
      { name: '/me/nights', requests: asReaders('/me/nights'), status: 200 },
      { name: '/me/friends', aim: '12', requests: asReaders(`/me/friends?metro=${metro}&${range}`), status: 200 },
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
