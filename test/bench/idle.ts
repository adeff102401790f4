import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { less, redisUse } from '../support/servers/redis-use.ts';
import { LiveChain } from './live-chain.ts';
import type { Bench, Figures } from './versions.ts';

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
  async prepare(_versions, { seconds }) {
    return {
      title: `Idle: commands in Redis (those inside scripts too) and bytes both ways, of ${seconds} s each`,
      rows,
      async measure(version) {
        await using chain = await LiveChain.start(version);
        const client = new Redis(chain.redis.url);
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
            await (await (name.endsWith('API') ? chain.api() : chain.projector())).ready(120_000);
            const now = await measured();
            say(name, less(now, last));
            say('all', now);
            last = now;
          }
        } finally {
          client.disconnect();
        }
        return figures;
      },
    };
  },
};
