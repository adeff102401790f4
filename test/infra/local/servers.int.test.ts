import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createClient } from 'redis';
import { describe, expect, test, vi } from 'vitest';
import { findBackends } from '../../../infra/local/find-backends.ts';
import { startKafkaBroker } from '../../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../../infra/local/redis-server.ts';
import { kafkaBrokers, redisUrl } from '../../support/backends.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';

describe('the servers tests run on', () => {
  test('Redis answers, and refuses writes rather than drop views when it is full', async () => {
    const client = await createClient({ url: redisUrl() }).connect();
    expect(await client.configGet('maxmemory-policy')).toEqual({ 'maxmemory-policy': 'noeviction' });
    await client.close();
  });

  test('Kafka accepts connections', async () => {
    const [host, port] = kafkaBrokers().split(',')[0]!.split(':') as [string, string];
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), host, () => resolve(socket.end() as unknown as undefined));
      socket.once('error', reject);
    });
  });

  test.runIf(process.platform === 'linux')('Kafka leaves nothing outside its folder when it is killed', async () => {
    const broker = await startKafkaBroker();
    const words = (await readFile(`/proc/${broker.pid}/cmdline`, 'utf8')).split('\0');
    await broker.stop();
    // Java unpacks the libraries of codecs there, and a killed one removes none.
    expect(words).toContain(`-Djava.io.tmpdir=${dirname(broker.dataFolder)}`);
  });

  test('a Redis with persistence has its data after kill -9, one without has none', async () => {
    for (const persistence of ['aof', 'none'] as const) {
      const server = await startRedisServer({ persistence });
      const write = await createClient({ url: server.url })
        .on('error', () => undefined)
        .connect();
      await write.set('key', 'value');
      await server.kill();
      write.destroy();
      await server.start();
      const read = await createClient({ url: server.url }).connect();
      expect(await read.get('key')).toBe(persistence === 'aof' ? 'value' : null);
      await read.close();
      await server.stop();
    }
  });

  test('a Redis Cluster of three masters covers all slots', async () => {
    const cluster = await startRedisCluster();
    const info = execFileSync('redis-cli', ['-u', cluster.url, 'cluster', 'info']).toString();
    expect(info).toContain('cluster_slots_ok:16384');
    expect(info).toContain('cluster_size:3');
    await cluster.stop();
  });
});

describe('where a container engine answers but runs nothing', () => {
  test('a local process is started instead, and the reason is said', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-engine-'));
    const socket = join(folder, 'engine.sock');
    const engine = createServer((request, response) => {
      response.writeHead(request.url === '/_ping' ? 200 : 500, { 'content-type': 'application/json' });
      response.end(request.url === '/_ping' ? 'OK' : '{"message":"no space left"}');
    }).listen(socket);
    const said = vi.spyOn(console, 'warn').mockImplementation(() => {});
    vi.stubEnv('DOCKER_HOST', `unix://${socket}`);
    vi.stubEnv('KAFKA_BROKERS', kafkaBrokers());
    vi.stubEnv('REDIS_URL', '');
    try {
      const backends = await findBackends();
      await backends.stop();
      expect(backends.redisFrom).toContain('a local process');
      expect(said.mock.calls.flat().join('\n')).toMatch(/Cannot run Redis in a container.*instead: .+/);
    } finally {
      vi.unstubAllEnvs();
      said.mockRestore();
      engine.closeAllConnections();
      engine.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
