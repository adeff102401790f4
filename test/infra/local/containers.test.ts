import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { containerEngineAnswers, containerWithPort } from '../../../infra/local/containers.ts';

/** Something at a socket that DOCKER_HOST names. */
async function engine(answer: RequestListener) {
  const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-engine-'));
  const server = createServer(answer).listen(join(folder, 'engine.sock'));
  await once(server, 'listening');
  vi.stubEnv('DOCKER_HOST', `unix://${join(folder, 'engine.sock')}`);
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe('a container engine', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('whose socket never answers is not', async () => {
    await using _engine = await engine(() => undefined);
    expect(await containerEngineAnswers()).toBe(false);
  });
});

test.each([
  ['localhost', '127.0.0.1'],
  ['engine.example.org', undefined],
])('a container of an engine at %s has its port on the address %s', async (engineHost, HostIp) => {
  const container = await containerWithPort('redis:7', { container: 6379, host: 16379 }, engineHost);
  const { hostConfig } = container as unknown as { hostConfig: { PortBindings: unknown } };
  expect(hostConfig.PortBindings).toEqual({ '6379/tcp': [{ HostPort: '16379', ...(HostIp && { HostIp }) }] });
});
