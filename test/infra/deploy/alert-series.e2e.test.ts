import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Processes } from '../../support/processes/process.ts';
import { freshKeyPrefix, redisUrl } from '../../support/servers/backends.ts';
import { makeCertificate } from '../../support/servers/certificate.ts';

const processes = new Processes();
afterAll(() => processes.close());

const unitTests = readFileSync(new URL('../../../infra/deploy/alerts.test.yaml', import.meta.url), 'utf8');

/** A series as text without what Prometheus adds, and without an answer's status, of which any may come. */
function seriesOf(name: string, labels: string): string {
  const known = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => !['instance', 'job'].includes(label!));
  return `${name} ${known
    .map(([, label, value]) => (label === 'status' ? label : `${label}=${value}`))
    .sort()
    .join(' ')}`;
}

it('the unit tests of the alerts take their series from those that a process has', async () => {
  const folder = await processes.folder();
  await writeFile(join(folder, 'authority.pem'), makeCertificate(['a.example'], 90).cert);
  const service = await processes.start('start', {
    NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
    AUTH_REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  });
  await service.ready();
  await fetch(`${service.api}/metros/portland/days/2015-06-13`);
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  await service.stop();
  const exported = new Set(
    [...metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name, labels]) => seriesOf(name!, labels ?? '')),
  );
  const tested = [...unitTests.matchAll(/series: '(\w+)(?:\{(.*)\})?'/g)].map(([, name, labels]) =>
    seriesOf(name!, labels ?? ''),
  );
  expect(tested.length).toBeGreaterThan(30);
  expect([...new Set(tested)].filter((series) => !exported.has(series) && series !== 'up ')).toEqual([]);
});
