import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisAuthState } from '../../../../infra/redis/auth-state-redis.ts';
import { watchSignIn } from '../../../../services/wiring/sign-in/sign-in-watch.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer({ args: ['--maxmemory', '1', '--maxmemory-policy', 'noeviction'] });
});
afterAll(() => server.stop());

it('a Redis of sign-in that is full is noticed, with what to do', async () => {
  const store = redisAuthState({ url: server.url });
  const closing = new AbortController();
  const log = { info: () => undefined, warn: () => undefined };
  const soon = async () => await new Promise<void>((resolve) => setTimeout(resolve, 20));
  const watch = watchSignIn(store, log, closing.signal, soon);
  const full = "Sign-in's Redis (AUTH_REDIS_URL) is full (OOM); raise its maxmemory";
  await expect.poll(() => watch.trouble(), { timeout: 10_000 }).toBe(full);
  closing.abort();
  await store.close();
});
