import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { containerHost, containerWithPort } from '../../../infra/local/containers.ts';

test('a container engine whose socket never answers is none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-engine-'));
  const server = createServer(() => undefined).listen(join(folder, 'engine.sock'));
  vi.stubEnv('DOCKER_HOST', `unix://${join(folder, 'engine.sock')}`);
  expect(await containerHost()).toBe(null);
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test.each([
  ['localhost', '127.0.0.1'],
  ['engine.example.org', undefined],
])('a container of an engine at %s has its port on the address %s', async (engineHost, HostIp) => {
  const container = await containerWithPort('redis:7', { container: 6379, host: 16379 }, engineHost);
  const { hostConfig } = container as unknown as { hostConfig: { PortBindings: unknown } };
  expect(hostConfig.PortBindings).toEqual({ '6379/tcp': [{ HostPort: '16379', ...(HostIp && { HostIp }) }] });
});
