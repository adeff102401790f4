import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { redisConnection } from '../../../infra/redis/redis-connection.ts';
import { owedReplyMsMax } from '../../../infra/redis/redis-settings.ts';
import { redisUrl } from '../../support/servers/backends.ts';
import { stallingProxy } from '../../support/servers/stalling-proxy.ts';

/** Passes each connection on to Redis, but late: as TLS, a far network or a busy machine has it. */
async function slowWay(lateMs: number) {
  const { hostname, port } = new URL(redisUrl());
  const sockets = new Set<Socket>();
  const server = createServer(async (client) => {
    sockets.add(client.on('error', () => undefined));
    await sleep(lateMs);
    const redis = connect(Number(port || 6379), hostname).on('error', () => undefined);
    sockets.add(redis);
    client.pipe(redis).pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as { port: number }).port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('a connection that takes two seconds is waited for', async () => {
  const way = await slowWay(2_000);
  const connection = await redisConnection({ url: way.url, cluster: false, keyPrefix: 'x:' });
  try {
    expect(String(await connection.command('x:none', ['PING']))).toBe('PONG');
  } finally {
    await connection.close();
    way.close();
  }
});

test('a half-open connection is given up as soon as the API gives up its own', async () => {
  const proxy = await stallingProxy(redisUrl());
  const connection = await redisConnection({ url: proxy.url, cluster: false, keyPrefix: 'x:' });
  try {
    await connection.command('x:none', ['PING']);
    proxy.stall('data');
    const asked = connection.command('x:none', ['PING']).catch(() => 'given up');
    expect(await Promise.race([asked, sleep(2.5 * owedReplyMsMax, 'still waits')])).toBe('given up');
    await vi.waitFor(async () => expect(String(await connection.command('x:none', ['PING']))).toBe('PONG'), 5_000);
  } finally {
    await connection.close();
    await proxy.close();
  }
});
