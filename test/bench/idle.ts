import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { Processes } from '../support/processes/process.ts';
import { less, redisUse } from '../support/servers/redis-use.ts';
import { runCommand } from './commands.ts';
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
    const broker = await startKafkaBroker();
    ended.defer(() => broker.stop());
    const log = { KAFKA_BROKERS: broker.brokers };
    for (const command of [['topics'], world]) await runCommand(versions[0]!, command, log);
    return {
      title: `Idle: commands in Redis (those inside scripts too) and bytes both ways, of ${seconds} s each`,
      rows,
      async measure(version) {
        const redis = await startRedisServer();
        const running = new Processes(version.folder);
        const client = new Redis(redis.url);
        const measured = async () => {
          await sleep(settleMs);
          const before = await redisUse(client);
          await sleep(Number(seconds) * 1_000);
          return less(await redisUse(client), before);
        };
        const figures: Figures = {};
        const say = (name: string, { commands, bytes }: { commands: number; bytes: number }): void => {
          figures[`${name}: commands`] = commands / Number(seconds);
          figures[`${name}: bytes`] = bytes / Number(seconds) / 1_000;
        };
        try {
          let last = await measured();
          for (const name of processes) {
            const [command, env] = name.endsWith('API') ? (['api', {}] as const) : (['projector', log] as const);
            await (await running.start(command, { ...env, REDIS_URL: redis.url })).ready(120_000);
            const now = await measured();
            say(name, less(now, last));
            say('all', now);
            last = now;
          }
        } finally {
          client.disconnect();
          await running.close();
          await redis.stop();
        }
        return figures;
      },
    };
  },
};
