import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { expect, test, vi } from 'vitest';
import { findBackends } from '../../../infra/local/find-backends.ts';
import { kafkaBrokers } from '../../support/servers/backends.ts';

test('where a container engine answers but runs nothing, a local process is started instead, and the reason is said', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-engine-'));
  const socket = join(folder, 'engine.sock');
  const engine = createServer((request, response) => {
    const isAboutEngine = ['/info', '/networks/bridge'].includes(request.url!);
    response.writeHead(isAboutEngine ? 200 : 500, { 'content-type': 'application/json' });
    response.end(isAboutEngine ? '{}' : '{"message":"no space left"}');
  }).listen(socket);
  const said = vi.spyOn(console, 'warn').mockImplementation(() => {});
  vi.stubEnv('DOCKER_HOST', `unix://${socket}`);
  vi.stubEnv('KAFKA_BROKERS', kafkaBrokers());
  vi.stubEnv('REDIS_URL', '');
  try {
    const backends = await findBackends();
    const client = await createClient({ url: backends.redisUrl }).connect();
    expect(await client.configGet('maxmemory-policy')).toEqual({ 'maxmemory-policy': 'noeviction' });
    client.destroy();
    await backends.stop();
    expect(said.mock.calls.flat().join('\n')).toMatch(/Cannot run Redis in a container.*instead: .+/);
  } finally {
    vi.unstubAllEnvs();
    said.mockRestore();
    engine.closeAllConnections();
    engine.close();
    await rm(folder, { recursive: true, force: true });
  }
});
