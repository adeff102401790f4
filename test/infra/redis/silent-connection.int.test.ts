import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { type Arg, redisConnection } from '../../../infra/redis/redis-connection.ts';
import { owedReplyMsMax } from '../../../infra/redis/redis-settings.ts';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { redisViewReader } from '../../../infra/redis/views/redis-view-reader.ts';
import { redisUrl } from '../../support/servers/backends.ts';
import { startRedisCluster } from '../../support/servers/redis-cluster.ts';
import { type Carries, type Ends, type Gets, silentProxy } from '../../support/servers/redis-proxies.ts';

/** Far longer than any command may take, on a busy machine too. */
const forEverMs = 20 * owedReplyMsMax;
const everyMs = 300;
type Ask = (key: string, args: Arg[]) => Promise<unknown>;

/**
 * Asks now and then, and does not wait for the answers: as several parts of a process do that share a connection. Goes on until
 * all that it asked in the first second has ended, and says how each did.
 */
async function askOn(ask: Ask, keys: readonly string[]): Promise<Set<string>> {
  const asked: Promise<string>[] = [];
  const some = (): void => {
    for (const key of keys) {
      const answer = ask(key, ['GET', key]).then(() => 'answered');
      asked.push(answer.catch(() => 'failed'));
    }
  };
  for (let i = 0; i * everyMs < 1_000; i++) {
    some();
    await sleep(everyMs);
  }
  const early = Promise.race([Promise.all(asked), sleep(forEverMs, ['still waits'])]);
  const timer = setInterval(some, everyMs);
  return new Set(await early.finally(() => clearInterval(timer)));
}

const untilAnswered = (ask: Ask, key: string) =>
  vi.waitFor(() => ask(key, ['GET', key]), { timeout: forEverMs, interval: 200 });

/** Each client there is of a single Redis: how it is asked, and closed. */
const clients = {
  'node-redis': (url: string) => redisConnection({ url, cluster: false, keyPrefix: '' }),
  "ioredis of the API's reads": async (url: string) => {
    const reader = redisViewReader({ url, cluster: false, keyPrefix: 'x:' });
    return { command: () => reader.memory!(), close: reader.close };
  },
  'ioredis of sign-in': async (url: string) => {
    const state = redisSignInState({ url });
    return { command: (key: string) => state.find('session', key), close: state.close };
  },
};

it('each command on a connection that falls silent ends, whatever the moment, and whatever goes on being asked', async () => {
  const carried: Carries[] = ['nothing', 'commands', 'half a reply'];
  const ends: Ends[] = ['never', 'FIN', 'RST'];
  const gotten: Gets[] = ['all', 'connected', 'one reply'];
  // Each two values come together.
  const cases = (Object.keys(clients) as (keyof typeof clients)[]).flatMap((client) =>
    carried.flatMap((carries, i) => ends.map((end, j) => ({ client, carries, end, gets: gotten[(i + j) % 3]! }))),
  );
  const found = cases.map(async ({ client, carries, end, gets }) => {
    const proxy = await silentProxy(redisUrl());
    const { command, close }: { command: Ask; close(): Promise<void> } = await clients[client](proxy.url);
    try {
      await untilAnswered(command, 'x');
      proxy.fallSilent(carries, gets);
      setTimeout(() => proxy.end(end), 1_000);
      const became = await askOn(command, ['x']);
      // Now it connects again.
      for (const one of await askOn(command, ['x'])) became.add(one);
      proxy.speak();
      await untilAnswered(command, 'x');
      return { client, carries, end, gets, waits: became.has('still waits') };
    } finally {
      await close();
      await proxy.close();
    }
  });
  expect(await Promise.all(found)).toEqual(cases.map((each) => ({ ...each, waits: false })));
}, 200_000);

it('each command to a master of a cluster that stands still ends, whatever the others are asked, and then it works again', async () => {
  const cluster = await startRedisCluster();
  const keys = Array.from({ length: 12 }, (_, i) => `{v${i}}`);
  const { command, masters, close } = await redisConnection({ url: cluster.url, cluster: true, keyPrefix: '' });
  const frozen = cluster.nodes[1]!;
  try {
    await untilAnswered(command, keys[0]!);
    const straight = await masters();
    process.kill(frozen.pid, 'SIGSTOP');
    const all: Ask = (_key, args) => Promise.all(straight.map((ask) => ask(['ECHO', ...args.slice(1)])));
    const became = await Promise.all([askOn(command, keys), askOn(all, ['x'])]);
    expect(became.flatMap((one) => [...one])).not.toContain('still waits');
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
    for (const key of keys) await untilAnswered(command, key);
    await close();
    await cluster.stop();
  }
}, 200_000);
