import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { redisViewReader } from '../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../infra/redis/views/redis-view-writer.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { complete, lead } from '../support/stores/lead.ts';
import { dumpRedis, isView } from '../support/stores/redis-dump.ts';
import { privacyProperties } from './privacy.ts';

const numRuns = Number(process.env.RUNS ?? 4);

let admin: Redis;
beforeAll(() => {
  admin = new Redis(redisUrl());
});
afterAll(() => admin.disconnect());

privacyProperties(
  'views in Redis, every key and value of it',
  async () => {
    const settings = { url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() };
    const writer = await redisViewWriter(settings);
    // Nobody's views are believed before a leader has stamped them.
    await lead(writer);
    await complete(writer, allTags);
    const reader = redisViewReader(settings);
    while (!(await reader.get(['0|complete:']).catch(() => null))) await new Promise((done) => setTimeout(done, 5));
    return {
      writer,
      reader,
      async dump() {
        const all = await dumpRedis(admin, settings.keyPrefix);
        const named = [...all].map(([name, value]): [string, string] => [name.slice(settings.keyPrefix.length), value]);
        return new Map(named.filter(([name]) => isView(name)));
      },
      async close() {
        await writer.close();
        await reader.close();
      },
    };
  },
  numRuns,
);
