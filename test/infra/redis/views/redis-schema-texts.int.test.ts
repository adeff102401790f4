import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { redisSchemaTexts } from '../../../../infra/redis/views/redis-schema-texts.ts';
import { redisLiveViews } from '../../../../infra/redis/views/stored-views.ts';
import { silentLog } from '../../../../projector/ports/log.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';

const redis = new Redis(redisUrl());
afterAll(() => redis.quit());

// docs/rules.md#schema-registry
it('schema texts are what was kept, and no views', async () => {
  const settings = { url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() };
  const texts = await redisSchemaTexts(settings, silentLog);
  const live = await redisLiveViews(settings);
  await redis.rpush(redisKeys(settings.keyPrefix).schema('a/2'), 'a list of another program');
  expect([await texts.find('a/1'), await texts.find('a/2')]).toEqual([null, null]);
  await texts.keep('a/1', '{"schema":"ö"}');
  await texts.keep('a/2', '');
  expect([await texts.find('a/1'), await texts.find('a/2')]).toEqual(['{"schema":"ö"}', '']);
  expect(await Array.fromAsync(live.list())).toEqual([]);
  await Promise.all([texts.close(), live.close()]);
});
