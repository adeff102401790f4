import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { runCommand, startServer, worldDay } from './commands.ts';
import type { Used } from './cpu-report.ts';
import { measuredCore, startPinned } from './pinned-process.ts';
import { sceneOf } from './scene.ts';
import type { Bench, Figures, Version } from './versions.ts';

// A view's tag is known to be right once a round after its compare is stored: then a next start need not compare it.
const settleMs = 3_000;
const bare = 'bare fetch, CPU';

/** CPU and memory of a projector's start, from a real Kafka into a real Redis, against bare fetching of the same records. */
export const start: Bench = {
  options: { riders: '20000', profile: '' },
  async prepare(versions, { riders, profile }, ended) {
    const scene = sceneOf(ended);
    const [broker, redis] = await Promise.all([scene.broker(), scene.redis()]);
    const env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: redis.url };
    // A projector of nothing: what any takes.
    const idle = { ...env, KAFKA_TOPIC_PREFIX: 'empty.', REDIS_KEY_PREFIX: 'empty:' };
    for (const each of [env, idle]) await runCommand(versions[0]!, ['topics'], each);
    await runCommand(
      versions[0]!,
      ['simulate', '--around', worldDay, '--riders', riders!, '--seed', '7', '--rate', '0', '--count', '0'],
      env,
    );
    const client = new Redis(redis.url);
    ended.defer(() => client.disconnect());

    const bareFetch = async (): Promise<number> => {
      const fetching = await startPinned('bare-fetch.ts', [broker.brokers], measuredCore);
      const { cpuSeconds } = await fetching.ask<Used>('fetch');
      await fetching.ended;
      return cpuSeconds;
    };
    /** Until its views stand. Then it stops as by SIGTERM, which is not measured. */
    const started = async (version: Version, name: string, settings = env): Promise<Used> => {
      const folder = profile && `${profile}/${version.name}-${name}`;
      if (folder) mkdirSync(folder, { recursive: true });
      // As in infra/deploy/systemd.
      const young = ['--min-semi-space-size=32', '--max-semi-space-size=32'];
      const execArgv = [...young, ...(folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [])];
      const projector = await startServer(version, 'projector', settings, { execArgv });
      const used = await projector.used();
      await sleep(settleMs);
      await projector.end();
      return used;
    };
    return {
      title: `Start: ${riders} riders; CPU time less that of a projector of an empty log`,
      rows: [
        { name: bare, unit: 's' },
        { name: 'first start, CPU', unit: 's', to: bare, aim: '3' },
        { name: 'first start, peak memory', unit: 'MiB', aim: '500 MiB' },
        { name: 'next start, CPU', unit: 's', to: bare, aim: '1.5' },
        { name: 'next start, peak memory', unit: 'MiB', aim: '500 MiB' },
      ],
      async measure(version): Promise<Figures> {
        await client.flushall();
        const fetched = await bareFetch();
        const none = await started(version, 'empty', idle);
        await client.flushall();
        const first = await started(version, 'first');
        const next = await started(version, 'next');
        return {
          [bare]: fetched,
          'first start, CPU': first.cpuSeconds - none.cpuSeconds,
          'first start, peak memory': first.rssMiBMax,
          'next start, CPU': next.cpuSeconds - none.cpuSeconds,
          'next start, peak memory': next.rssMiBMax,
        };
      },
    };
  },
};
