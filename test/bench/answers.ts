import { join } from 'node:path';
import { defaultPartitioners } from '../../schemas/events/partitioner.ts';
import { newArchive } from '../../services/backends/new-archive.ts';
import { loadSigningKeys } from '../../services/settings/sign-in-files.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { forAnyVersion } from './commands.ts';
import type { Used } from './cpu-report.ts';
import { type LoadTarget, prepareLoad } from './load.ts';
import { otherCore } from './pinned-process.ts';
import { sceneOf } from './scene.ts';
import type { Version } from './versions.ts';

const warmUpMs = 1_500;
const roundMs = 700;
export const baseUrl = 'http://127.0.0.1:8080/api';

/** Where a service's answers come from. */
export type Store = 'memory' | 'Redis';

/** A route whose answers are counted. */
export type Route = Omit<LoadTarget, 'port'> & { name: string };

/** Whatever answers requests, and says what CPU time it used. */
export interface Answering {
  port: number;
  used(): Promise<Used>;
}

/** The services of some versions over one world, each over a store of its own. The folder has the signing keys. */
export async function startServices(
  versions: readonly Version[],
  stores: readonly Store[],
  world: Iterable<LoggedRecord>,
  ended: AsyncDisposableStack,
) {
  const scene = sceneOf(ended);
  const dir = await scene.folder();
  await writeWorld(join(dir, 'archive'), world);
  await loadSigningKeys(null, dir);

  async function start(version: Version, store: Store): Promise<Answering> {
    const env = {
      ...{ BASE_URL: baseUrl, ARCHIVE_DIR: join(dir, 'archive'), OAUTH_KEYS: join(dir, 'oauth-keys.json') },
      DATA_DIR: join(dir, `${version.name}-${store}`),
    };
    if (store === 'memory') return scene.start(version, 'start', env);
    const views = { ...env, REDIS_URL: (await scene.redis()).url };
    await scene.start(version, 'projector', views, { core: otherCore });
    return scene.start(version, 'api', views);
  }
  const services = new Map<string, Answering>();
  for (const version of versions)
    for (const store of stores) services.set(`${version.name} ${store}`, await start(version, store));

  const loads = new Map<string, ReturnType<typeof prepareLoad>>();
  /** The route's client, warmed up. */
  const load = ({ port }: Answering, route: Route): ReturnType<typeof prepareLoad> => {
    const key = `${port} ${route.name}`;
    const prepare = async () => {
      const requests = route.status === 304 ? await validated(port, route.requests) : route.requests;
      const made = await prepareLoad({ port, ...route, requests });
      await made.run(warmUpMs);
      return made;
    };
    const made = loads.get(key) ?? prepare();
    loads.set(key, made);
    return made;
  };

  return {
    dir,
    load,
    of: (version: Version, store: Store): Answering => services.get(`${version.name} ${store}`)!,
    /** All must send the same: otherwise their times say nothing about each other. */
    async assertSame({ name, requests }: Route): Promise<void> {
      for (const request of requests) {
        const answers = [...services.values()].map(async ({ port }) => {
          const answer = await plainly(port, request);
          return `${answer.status} ${await answer.text()}`;
        });
        if (new Set(await Promise.all(answers)).size > 1)
          throw new Error(`Cannot compare ${name}: the services answer differently`);
      }
    },
    /** One round: CPU microseconds of an answer. */
    async cpuMicros(service: Answering, route: Route): Promise<number> {
      const { run } = await load(service, route);
      const before = await service.used();
      const answers = await run(roundMs);
      const after = await service.used();
      return ((after.cpuSeconds - before.cpuSeconds) / answers) * 1e6;
    },
  };
}

/** Asks for the bytes as they are. */
const plainly = (port: number, { path, headers = {} }: Route['requests'][number]): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, { headers: { ...headers, 'Accept-Encoding': 'identity' } });

/** The same requests with a service's own ETags: those of another version may differ. */
const validated = (port: number, requests: Route['requests']): Promise<Route['requests']> =>
  Promise.all(
    requests.map(async (request) => {
      const etag = (await plainly(port, request)).headers.get('etag')!;
      return { ...request, headers: { ...request.headers, 'If-None-Match': etag } };
    }),
  );

/** Writes a world to an archive, which any version reads. */
async function writeWorld(dir: string, world: Iterable<LoggedRecord>): Promise<void> {
  const archive = newArchive({ dir, prefix: 'ride-calendar.' }, defaultPartitioners);
  for (const record of world) archive.add({ ...record, timestampMs: 1 } as Parameters<typeof archive.add>[0]);
  await archive.complete();
  await archive.close();
  await forAnyVersion(dir);
}
