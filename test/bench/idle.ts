import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { less, redisUse } from '../support/servers/redis-use.ts';
import { runCommand } from './commands.ts';
import { sceneOf } from './scene.ts';
import type { Bench, Figures } from './versions.ts';

// Of a small world: the leader also compares a 64th of all views every ten seconds, which is not what idling costs.
const world = 'simulate --metros 1 --rides 20 --riders 50 --days 7 --seed 7 --rate 0 --count 0'.split(' ');

// A first position is stored, and what began with a start is over.
const settleMs = 5_000;
const processes = ['the leader', 'a standby', 'an API', 'another API'] as const;
const rows = [...processes, 'all'].flatMap((name) => [
  { name: `${name}: commands`, unit: '/s' as const, ...(name === 'all' && { aim: '150/s' }) },
  { name: `${name}: bytes`, unit: 'kB/s' as const, ...(name === 'all' && { aim: '15 kB/s' }) },
]);

/** What each process asks of Redis while nothing happens: each is started beside those before it. */
export const idle: Bench = {
  options: { seconds: '20' },
  async prepare(versions, { seconds }, ended) {
    const { brokers } = await sceneOf(ended).broker();
    const log = { KAFKA_BROKERS: brokers };
    for (const command of [['topics'], world]) await runCommand(versions[0]!, command, log);
    return {
      title: `Idle: commands in Redis (those inside scripts too) and bytes both ways, of ${seconds} s each`,
      rows,
      async measure(version) {
        await using round = new AsyncDisposableStack();
        const scene = sceneOf(round);
        const [redis, dataDir] = [await scene.redis(), await scene.folder()];
        const client = round.adopt(new Redis(redis.url), (one) => one.disconnect());
        const measured = async () => {
          await sleep(settleMs);
          const before = await redisUse(client);
          await sleep(Number(seconds) * 1_000);
          return less(await redisUse(client), before);
        };
        const figures: Figures = {};
        let last = await measured();
        for (const name of processes) {
          const [command, env] = name.endsWith('API') ? ['api', { DATA_DIR: dataDir }] : ['projector', log];
          await scene.start(version, command, { ...env, REDIS_URL: redis.url });
          const now = await measured();
          for (const [of, { commands, bytes }] of [[name, less(now, last)] as const, ['all', now] as const]) {
            figures[`${of}: commands`] = commands / Number(seconds);
            figures[`${of}: bytes`] = bytes / Number(seconds) / 1_000;
          }
          last = now;
        }
        return figures;
      },
    };
  },
};
