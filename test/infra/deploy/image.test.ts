import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';

// The image's labels, and its health check, run as it stands in the Dockerfile.

const run = promisify(execFile);
const dockerfile = readFileSync(new URL('../../../infra/deploy/Dockerfile', import.meta.url), 'utf8');
const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
const [, ...check] = JSON.parse(/HEALTHCHECK.*\\\n\s*CMD (\[.*\])/.exec(dockerfile)![1]!) as string[];

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that answers /readyz with a status, and all else with 200. */
async function serving(status: number): Promise<string> {
  const server = createServer(({ url }, response) => response.writeHead(url === '/readyz' ? status : 200).end());
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return String((server.address() as AddressInfo).port);
}

const checks = (env: Record<string, string>) =>
  run(process.execPath, check, { env }).then(
    () => 'healthy',
    () => 'unhealthy',
  );

describe('the image’s health check', () => {
  test.each([
    [200, 'healthy'],
    [503, 'unhealthy'],
  ])('answers as /readyz does: %i is %s', async (status, expected) => {
    expect(await checks({ PORT: await serving(status) })).toBe(expected);
  });

  test('asks METRICS_PORT where that is set', async () => {
    const [PORT, METRICS_PORT] = [await serving(200), await serving(503)];
    expect(await checks({ PORT, METRICS_PORT })).toBe('unhealthy');
    expect(await checks({ PORT: METRICS_PORT, METRICS_PORT: PORT })).toBe('healthy');
  });
});

test('the image’s labels, and the tag in the Kubernetes example, say what package.json says', () => {
  const labels = [...dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g)];
  const { description, license, version } = manifest;
  expect(Object.fromEntries(labels.map(([, name, value]) => [name, value]))).toEqual({
    title: 'Ride Calendar',
    description,
    licenses: license,
    version,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Docker fills it in
    revision: '${COMMIT}',
  });
  const overlay = new URL('../../../infra/deploy/kubernetes/example/kustomization.yaml', import.meta.url);
  expect(readFileSync(overlay, 'utf8')).toContain(`newTag: ${version}\n`);
});
