import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { listening } from '../../support/servers/listening.ts';

// The image's labels, and its health check, run as it stands in the Dockerfile.

const run = promisify(execFile);
const dockerfile = readFileSync(new URL('../../../infra/deploy/Dockerfile', import.meta.url), 'utf8');
const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
const [, ...check] = JSON.parse(/HEALTHCHECK.*\\\n\s*CMD (\[.*\])/.exec(dockerfile)![1]!) as string[];

/** A server that answers /readyz with a status, and all else with 200. */
const serving = (status: number) =>
  listening(createServer(({ url }, response) => response.writeHead(url === '/readyz' ? status : 200).end()));

test('the image’s health check answers as /readyz does, at METRICS_PORT where that is set', async () => {
  using ready = await serving(200);
  using not = await serving(503);
  const checks = (env: Record<string, string>) => run(process.execPath, check, { env }).then(Boolean, () => false);
  const [up, down] = [ready, not].map(({ port }) => String(port)) as [string, string];
  const found = [{ PORT: up }, { PORT: down, METRICS_PORT: up }, { PORT: down }].map(checks);
  expect(await Promise.all(found)).toEqual([true, true, false]);
});

test('the image listens at every address, at the port that it exposes, and keeps its data in its volume', () => {
  const named = /^ENV .*$/m.exec(dockerfile)![0].matchAll(/ (\w+)=("[^"]*"|\S+)/g);
  const { HOST, PORT, DATA_DIR, NODE_OPTIONS, NODE_ENV } = Object.fromEntries(named.map(([, ...pair]) => pair));
  expect({ HOST, NODE_ENV, NODE_OPTIONS }).toEqual({
    HOST: '0.0.0.0',
    NODE_ENV: 'production',
    NODE_OPTIONS: '"--enable-source-maps --max-old-space-size-percentage=75"',
  });
  for (const line of [`EXPOSE ${PORT}`, `VOLUME ${DATA_DIR}`, 'CMD ["start"]'])
    expect(dockerfile).toContain(`\n${line}\n`);
  // What no build may see: secrets are made in that folder.
  expect(readFileSync(new URL('../../../infra/deploy/Dockerfile.dockerignore', import.meta.url), 'utf8')).toMatch(
    /^\*\n[\s\S]*^infra\/deploy$/m,
  );
});

test('the image’s labels, and the tag in the Kubernetes example, say what package.json says', () => {
  const labels = [...dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)="([^"]*)"/g)];
  const { description, license, version } = manifest;
  expect(Object.fromEntries(labels.map(([, ...pair]) => pair))).toEqual({
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
