import { type Answering, type Route, type Store, startServices } from './answers.ts';
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
