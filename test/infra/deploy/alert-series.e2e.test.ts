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

// Any value of these may come.
const valueLabels = ['commit', 'status', 'version', 'view_format'];
const targetLabels = ['instance', 'job', 'cluster', 'namespace'];

/** A series as text without what Prometheus adds. */
function seriesOf(name: string, labels: string): string {
  const known = [...labels.matchAll(/(\w+)="([^"]*)"/g)].filter(([, label]) => !targetLabels.includes(label!));
  return `${name} ${known
    .map(([, label, value]) => (valueLabels.includes(label!) ? label : `${label}=${value}`))
    .sort()
    .join(' ')}`;
}

it('the unit tests of the alerts take their series from those that a process has', async () => {
  const folder = await processes.folder();
  await writeFile(join(folder, 'authority.pem'), makeCertificate(['a.example'], 90).cert);
  const service = await processes.start('start', {
    NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  });
  await service.ready();
  await fetch(`${service.api}/metros/portland/days/2015-06-13`);
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  await service.stop();
  const exported = new Set(
    [...metrics.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)].map(([, name, labels]) => seriesOf(name!, labels ?? '')),
  );
  // Of Prometheus, of infra/deploy/systemd/backup.sh, and of kube-state-metrics.
  const ofOthers = /^(up|ride_calendar_backup_timestamp_seconds|kube_cronjob_status_last_successful_time) /;
  const tested = [...unitTests.matchAll(/series: '(\w+)(?:\{(.*)\})?'/g)].map(([, name, labels]) =>
    seriesOf(name!, labels ?? ''),
  );
  expect(tested.length).toBeGreaterThan(30);
  expect([...new Set(tested)].filter((series) => !exported.has(series) && !ofOthers.test(series))).toEqual([]);
});
