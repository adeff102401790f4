import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { redisConnection } from '../../../infra/redis/redis-connection.ts';
import { redisUrl } from '../../support/servers/backends.ts';

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
