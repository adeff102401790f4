import { startRedisServer } from '../../infra/local/redis-server.ts';
import { developerKey, filterQueries, largeDayPath, ridePath, smallDayPath } from './bench-calendar.ts';
import { connections, etagOf, type LoadTarget, type PreparedLoad, prepareLoad } from './load.ts';
import { measuredCore, otherCore, type PinnedProcess, pin, startPinned } from './pinned-process.ts';
import { median, table, thousands } from './statistics.ts';

const warmUpMs = 1_500;
const roundMs = 600;
const rounds = 9;
const headers = { 'X-Api-Key': developerKey };

interface Server {
  port: number;
  process: PinnedProcess;
}

/** A measured route and its constant. */
interface Contest {
  name: string;
  aim: number;
  store: 'memory' | 'Redis';
  service: PreparedLoad & { process: PinnedProcess };
  constant: PreparedLoad & { process: PinnedProcess };
}

interface Round {
  requestsPerSecond: number;
  cpuMicros: number;
  busy: number;
}

/** Requests a second of the service, as ratios to a Fastify route that sends a constant Buffer of the same size. */
export async function benchReads(): Promise<void> {
  pin(process.pid, otherCore);
  const redisServer = await startRedisServer();
  pin(redisServer.pid, otherCore);
  const ended: (() => unknown)[] = [() => redisServer.stop()];
  const start = async (role: string, core: number, sizes: number[] = []): Promise<Server> => {
    const process = await startPinned('reads-server.ts', [role, redisServer.url], core);
    ended.unshift(() => process.end());
    const { port } = await process.ask<{ port: number }>({ start: sizes });
    return { port, process };
  };
  try {
    await start('projector', otherCore);
    const memory = await start('memory', measuredCore);
    const redis = await start('redis', measuredCore);
    const contests = await prepareContests({ memory, Redis: redis }, (sizes) => start('constant', measuredCore, sizes));
    const results = new Map(contests.map((contest) => [contest, [] as { service: Round; constant: Round }[]]));
    for (const { service, constant } of contests) {
      await service.run(warmUpMs);
      await constant.run(warmUpMs);
    }
    for (let i = 0; i < rounds; i++) {
      for (const contest of contests) {
        // Turn and turn about, so that neither always follows the other.
        const first = i % 2 === 0 ? contest.constant : contest.service;
        const second = first === contest.service ? contest.constant : contest.service;
        const one = await round(first);
        const two = await round(second);
        const [service, constant] = first === contest.service ? [one, two] : [two, one];
        results.get(contest)!.push({ service, constant });
      }
    }
    report(results);
    for (const { service, constant } of contests) {
      service.close();
      constant.close();
    }
  } finally {
    for (const end of ended) await end();
  }
}

async function prepareContests(
  services: Record<'memory' | 'Redis', Server>,
  startConstants: (sizes: number[]) => Promise<Server>,
): Promise<Contest[]> {
  const base = '/api';
  const day = base + smallDayPath;
  const routes: { name: string; aim: number; target: (etag: string) => Omit<LoadTarget, 'port'> }[] = [
    { name: 'day, small', aim: 0.75, target: () => ({ requests: [{ path: day, headers }], status: 200 }) },
    {
      name: 'day, large',
      aim: 0.75,
      target: () => ({ requests: [{ path: base + largeDayPath, headers }], status: 200 }),
    },
    {
      name: 'day, small, filtered',
      aim: 0.6,
      target: () => ({ requests: filterQueries.map((query) => ({ path: `${day}?${query}`, headers })), status: 200 }),
    },
    {
      name: 'day, small, filtered, new each time',
      aim: 0.6,
      target: () => ({
        requests: filterQueries.map((query) => ({ path: `${day}?${query}`, headers })),
        unheardOf: true,
        status: 200,
      }),
    },
    {
      name: 'day, large, filtered',
      aim: 0.6,
      target: () => ({
        requests: filterQueries.map((query) => ({ path: `${base}${largeDayPath}?${query}`, headers })),
        status: 200,
      }),
    },
    {
      name: 'day, small, 304',
      aim: 0.85,
      target: (etag) => ({ requests: [{ path: day, headers: { ...headers, 'If-None-Match': etag } }], status: 304 }),
    },
    { name: 'ride', aim: 0.75, target: () => ({ requests: [{ path: base + ridePath, headers }], status: 200 }) },
  ];
  const prepared: Omit<Contest, 'constant'>[] = [];
  for (const { name, aim, target } of routes) {
    for (const store of ['memory', 'Redis'] as const) {
      const { port, process } = services[store];
      const load = await prepareLoad({ port, ...target(await etagOf(port, day, headers)) });
      prepared.push({ name, aim, store, service: { ...load, process } });
    }
  }
  const smallBytes = prepared[0]!.service.bodySizes;
  const sizesOf = ({ service }: Omit<Contest, 'constant'>): number[] =>
    // A 304 has no body: it is held against the day that it stands for.
    service.bodyBytes === 0 ? smallBytes : service.bodySizes;
  const { port, process } = await startConstants(prepared.flatMap(sizesOf));
  const contests: Contest[] = [];
  for (const contest of prepared) {
    const requests = sizesOf(contest).map((size) => ({ path: `/${size}` }));
    contests.push({ ...contest, constant: { ...(await prepareLoad({ port, requests, status: 200 })), process } });
  }
  return contests;
}

async function round(load: PreparedLoad & { process: PinnedProcess }): Promise<Round> {
  const before = await load.process.ask<{ cpuSeconds: number }>({ cpu: true });
  const { answers, seconds } = await load.run(roundMs);
  const after = await load.process.ask<{ cpuSeconds: number }>({ cpu: true });
  const cpuSeconds = after.cpuSeconds - before.cpuSeconds;
  return {
    requestsPerSecond: answers / seconds,
    cpuMicros: (cpuSeconds / answers) * 1e6,
    busy: cpuSeconds / seconds,
  };
}

function report(results: Map<Contest, { service: Round; constant: Round }[]>): void {
  const rows = [...results].map(([{ name, aim, store, service }, pairs]) => [
    name,
    store,
    service.bodyBytes === 0 ? '–' : `${Math.round(service.bodyBytes)} B`,
    thousands(median(pairs.map((pair) => pair.constant.requestsPerSecond))),
    thousands(median(pairs.map((pair) => pair.service.requestsPerSecond))),
    median(pairs.map((pair) => pair.service.requestsPerSecond / pair.constant.requestsPerSecond)).toFixed(2),
    median(pairs.map((pair) => pair.constant.cpuMicros / pair.service.cpuMicros)).toFixed(2),
    `${Math.round(100 * median(pairs.map((pair) => pair.service.busy)))} %`,
    aim.toFixed(2),
  ]);
  console.log(`Reads: ${connections} connections, ${rounds} alternating rounds of ${roundMs} ms, medians`);
  console.log(
    table(['route', 'store', 'body', 'constant req/s', 'req/s', 'ratio', 'CPU ratio', 'core busy', 'aim'], rows),
  );
}
