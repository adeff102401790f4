import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseClients } from '../../../api/sign-in/clients/clients.ts';
import { parseSigningKeys } from '../../../api/sign-in/tokens/signing-keys.ts';
import { loadSettings, type Settings } from '../../../services/settings/settings.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { pythonWith } from '../../support/servers/python-package.ts';

const run = promisify(execFile);
const made = testFolder();

// What can be told of the files without a cluster. kustomize and kube-score check the rest: infra/deploy/kubernetes/README.md.

const folder = fileURLToPath(new URL('../../../infra/deploy/kubernetes/', import.meta.url));
const read = (name: string): string => readFileSync(folder + name, 'utf8');

/** A document of a file, by its kind and name. */
const document = (file: string, kind: string, name: string): string =>
  read(file)
    .split(/^---$/m)
    .find((text) => text.includes(`kind: ${kind}\n`) && text.includes(`\n  name: ${name}\n`))!;

/** Lines NAME=value, or items of a list of them. */
const assignments = (text: string): Record<string, string> =>
  Object.fromEntries(text.matchAll(/(?:^|- |\[|, )([A-Z_]+)=([^\s\]]*)/gm).map(([, ...pair]) => pair));

/** The generator of a part's settings in a kustomization: its literals, and the files that it takes. */
function generated(file: string, part: string): Record<string, string> {
  const block = read(file)
    .split('configMapGenerator:')[1]!
    .split(/^ {2}- name: /m)
    .find((one) => one.startsWith(`${part}\n`))!;
  const envs = [...block.matchAll(/envs: \[([\w.-]+)\]/g)].map((match) => read(`example/${match[1]}`));
  return assignments([block, ...envs].join('\n'));
}

const secretsOf = (part: string): Record<string, string> => assignments(read(`example/secrets/${part}.env`));
/** As an overlay has them. What a pod mounts is here a folder of this machine. */
const settingsOf = (part: string, overlay = 'example'): Record<string, string> => {
  const all = { ...generated('base/kustomization.yaml', part), ...generated(`${overlay}/kustomization.yaml`, part) };
  return 'WRITER_SCHEMAS' in all ? { ...all, WRITER_SCHEMAS: `${folder}../../../schemas/events` } : all;
};
const asTheyAre = (part: string): Record<string, string> => {
  // Node's own.
  const { NODE_EXTRA_CA_CERTS, ...ours } = { ...settingsOf(part), ...secretsOf(part) };
  expect(NODE_EXTRA_CA_CERTS).toBe('/etc/ride-calendar/authority.pem');
  return ours;
};
/** With passwords of one's own. */
const loaded = (part: string, more: Record<string, string> = {}): Settings => {
  const ours = Object.entries(asTheyAre(part)).map(([name, value]) => [name, value.replace('change-me', 'mine')]);
  return loadSettings({ ...Object.fromEntries(ours), ...more });
};

const parts = ['projector', 'api', 'topics', 'backup-archive'] as const;
const workload = (part: (typeof parts)[number] | 'backup-sign-in'): string =>
  document(`base/${part}.yaml`, part === 'projector' || part === 'api' ? 'Deployment' : 'CronJob', part);

describe('the example’s settings', () => {
  it('are ones that the service takes, with TLS to every server, and name the proxy before it', () => {
    const api = loaded('api', {
      OAUTH_COOKIE_KEYS: 'x'.repeat(32),
      OAUTH_KEYS: `${folder}example/secrets/oauth-keys.json`,
      OAUTH_CLIENTS: `${folder}example/secrets/oauth-clients.json`,
    });
    const proxied = { trustProxy: expect.anything(), baseUrl: expect.stringMatching('^https:') };
    expect(api).toMatchObject({ embedded: false, ...proxied });
    for (const part of ['projector', 'topics', 'backup-archive']) expect(loaded(part).kafka?.ssl).toBe(true);
    const secrets = ['api', 'projector'].flatMap((part) => Object.values(secretsOf(part)));
    const schemes = secrets.filter((one) => one.includes('://')).map((url) => url.split(':')[0]);
    expect(schemes).toEqual(Array(3).fill('rediss'));
  });

  it('give the projector nothing of sign-in, the API nothing of Kafka, and a job what it needs', () => {
    const names = (part: string) => Object.keys({ ...settingsOf(part), ...secretsOf(part) });
    const found = (part: string, begin: RegExp) => names(part).filter((name) => begin.test(name));
    expect([...found('projector', /^(SIGN_IN|OAUTH|AUTH)/), ...found('api', /^KAFKA/)]).toEqual([]);
    for (const part of ['topics', 'backup-archive']) expect(found(part, /^(SIGN_IN|OAUTH|AUTH|REDIS)/)).toEqual([]);
    expect(Object.keys(secretsOf('backup-sign-in'))).toEqual(['AUTH_REDIS_URL', 'REDISCLI_AUTH']);
  });

  it('hold no secret, and are refused as they are', async () => {
    await expect(parseSigningKeys(read('example/secrets/oauth-keys.json'), 'the file')).rejects.toThrow();
    for (const part of parts) {
      const refused = Object.entries(asTheyAre(part)).filter(([, value]) => value.includes('change-me'));
      expect(refused.length).toBeGreaterThan(0);
      for (const [name] of refused) expect(() => loadSettings(asTheyAre(part))).toThrow(`Cannot use setting ${name}: `);
    }
    expect(() => parseClients(read('example/secrets/oauth-clients.json'), 'the file')).not.toThrow();
    for (const path of globSync('example/secrets/*.env', { cwd: folder }))
      for (const [, secret] of read(path).matchAll(/(?:PASSWORD|SECRET|KEYS|REDISCLI_AUTH)=(.*)|:\/\/[^:]+:(.*)@/g))
        expect(secret ?? 'change-me').toBe('change-me');
  });
});

it('podman’s overlay has settings that the service takes without its Secret', () => {
  for (const part of ['projector', 'api'])
    expect(loadSettings(settingsOf(part, 'podman'))).toMatchObject({ redis: { url: 'redis://redis:6379' } });
});

it.each([...parts, 'backup-sign-in'] as const)(
  '%s has its own settings and secrets alone, and no right of the cluster or the machine',
  (part) => {
    const settings = [...workload(part).matchAll(/configMapRef: \{ name: ([\w-]+)/g)].map(([, name]) => name);
    expect(settings).toEqual(part === 'backup-sign-in' ? [] : [part]);
    const own = part === 'api' ? [part, 'api-files'] : [part];
    const named = [...workload(part).matchAll(/secret(?:Ref|KeyRef|Name|): ?(?:\{ *(?:secretName|name): )?([\w-]+)/gi)];
    expect(named.map(([, name]) => name)).toEqual(own);
    const refused = ['automountServiceAccountToken: false', 'runAsNonRoot: true', 'readOnlyRootFilesystem: true'];
    for (const line of [...refused, 'drop: [ALL]', 'RuntimeDefault', 'enableServiceLinks: false'])
      expect(workload(part)).toContain(line);
    const { WRITER_SCHEMAS: schemas } = part === 'backup-sign-in' ? {} : generated('base/kustomization.yaml', part);
    if (schemas) expect(workload(part)).toContain(`mountPath: ${schemas}, readOnly: true`);
  },
);

describe('the manifests', () => {
  it.each(['base', 'monitoring'])('of %s are all taken in', (name) => {
    const files = globSync('*.yaml', { cwd: folder + name });
    const [, listed] = /^resources:\n((?: {2}- .*\n)+)/m.exec(read(`${name}/kustomization.yaml`))!;
    const all = [...listed!.matchAll(/- (.*)/g).map(([, file]) => file), 'kustomization.yaml'];
    expect(all.sort()).toEqual(files.sort());
  });

  it('lead requests to the API’s own port, and scale it at 70 % of a core', () => {
    expect(document('base/api.yaml', 'Service', 'api')).toContain('port: 80, targetPort: http }');
    expect(workload('api')).toContain('name: http, containerPort: 8080 }');
    expect(read('example/ingress.yaml')).toMatch(/- path: \/\n +pathType: Prefix\n.*name: api, port: \{ name: http \}/);
    const [, cpu] = /requests: \{ cpu: (\d+)m,/.exec(workload('api'))!;
    const [, used] = /averageUtilization: (\d+)/.exec(document('base/api.yaml', 'HorizontalPodAutoscaler', 'api'))!;
    expect((Number(cpu) / 1000) * Number(used)).toBe(70);
  });

  it('are as Kubernetes’s schemas have them, and have no field besides', async () => {
    const programs = await pythonWith('kubernetes-validate', '1.37.0');
    const files = globSync('{base,example}/*.yaml', { cwd: folder }).filter((name) => !name.includes('kustomization'));
    expect(files).toHaveLength(8);
    const broken = join(made, 'broken.yaml');
    await writeFile(broken, read('base/projector.yaml').replace('replicas: 2', 'replica: 2'));
    // All that is found, of all files: what was broken here.
    const args = ['--strict', '--quiet', ...files, broken];
    const validated = run(`${programs}/kubernetes-validate`, args, { cwd: folder });
    const { stdout, stderr } = (await validated.catch((error) => error)) as { stdout: string; stderr: string };
    expect([stdout.trim().split('\n'), stderr]).toEqual([[expect.stringContaining("'replica' was unexpected")], '']);
  });

  /** Made anew by: npx vitest run test/infra/deploy/kubernetes.test.ts -u */
  it.each([
    ['ride-calendar', 'alerts.yaml', 'prometheus-rule.yaml'],
    ['ride-calendar-installations', 'installations.yaml', 'installations.yaml'],
  ])('have the rules %s as Prometheus Operator takes them', async (name, rules, manifest) => {
    const groups = readFileSync(`${folder}../${rules}`, 'utf8').replace(/^[\s\S]*?(?=^groups:)/m, '');
    const indented = groups.replace(/^(?=.)/gm, '  ');
    const head = `# Made from ../../${rules} (test/infra/deploy/kubernetes.test.ts).
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: ${name}
  labels: { app: ride-calendar }
spec:
`;
    await expect(head + indented).toMatchFileSnapshot(`${folder}monitoring/${manifest}`);
  });

  it('are what the alerts ask for: so many processes, by this job, and these backups', () => {
    const listed = readFileSync(`${folder}../installations.yaml`, 'utf8');
    const labels = [...listed.matchAll(/vector\((\d+)\), labels: \{ namespace: ([\w-]+), part: (\w+) \}/g)];
    const [, namespace] = /^namespace: ([\w-]+)$/m.exec(read('example/kustomization.yaml'))!;
    expect(labels.map(([, ...each]) => each)).toEqual([
      [/replicas: (\d+)/.exec(workload('projector'))![1], namespace, 'projector'],
      [/minReplicas: (\d+)/.exec(read('base/api.yaml'))![1], namespace, 'api'],
    ]);
    // A night and two hours old at most: vector(93600).
    const watched = listed.matchAll(/vector\(93600\), labels: \{ namespace: [\w-]+, backup: ([\w-]+) \}/g);
    const backups = [...watched].map(([, name]) => `backup-${name}`);
    expect(backups).toEqual(['backup-archive', 'backup-sign-in']);
    for (const name of backups) expect(document(`base/${name}.yaml`, 'CronJob', name)).toContain('mountPath: /kept }');
    // Each night, one at a time.
    for (const name of ['topics', ...backups])
      expect(document(`base/${name}.yaml`, 'CronJob', name)).toMatch(
        /schedule: \d+ \d+ \* \* \*\n +concurrencyPolicy: Forbid\n +startingDeadlineSeconds: 3600\n/,
      );
    expect(workload('backup-archive')).toContain('args: [archive, save, /kept/archive]');
    const saves = /umask 077\n[\s\S]* --rdb (\/kept\/sign-in\.rdb)\.new\n +mv \1\.new \1\n/;
    expect(workload('backup-sign-in')).toMatch(saves);
    const [, job] = /up\{job="([\w-]+)"/.exec(readFileSync(`${folder}../alerts.yaml`, 'utf8'))!;
    for (const part of ['projector', 'api'] as const) expect(workload(part)).toContain(`app: ${job}, part: ${part} }`);
    const monitor = read('monitoring/pod-monitor.yaml');
    for (const line of ['jobLabel: app\n', 'port: metrics,', 'values: [projector, api] }'])
      expect(monitor).toContain(line);
  });
});

it('the network policies open to each part the ports of what it needs, and nothing else', () => {
  const policies = read('base/network-policies.yaml').split(/^---$/m);
  const opened = policies.map((policy) => {
    const [name] = /(?<=\n {2}name: )[\w-]+/.exec(policy)!;
    const types = /policyTypes: \[(.*)\]/.exec(policy)![1];
    const ports = [...policy.matchAll(/port: (\d+)/g)].map(([, port]) => port);
    const parts = /part: ([\w-]+)|values: \[(.*?)\]/.exec(policy);
    const from = /from: .*metadata\.name: ([\w-]+)/.exec(policy)?.[1];
    return [name, parts?.[1] ?? parts?.[2] ?? 'all', types, [...new Set(ports)].join(), from].filter(Boolean);
  });
  expect(opened).toEqual([
    ['nothing-by-default', 'all', 'Ingress, Egress'],
    ['names-and-metrics', 'all', 'Ingress, Egress', '9090,53', 'monitoring'],
    ['readers-to-api', 'api', 'Ingress', '8080', 'ingress-nginx'],
    ['api-to-stores', 'api', 'Egress', '6379,443'],
    ['projector-to-log-and-store', 'projector, verify', 'Egress', '9093,6379,443'],
    ['jobs-to-log', 'topics, backup-archive', 'Egress', '9093'],
    ['backup-to-sign-in-store', 'backup-sign-in', 'Egress', '6379'],
  ]);
});

describe('the deployments', () => {
  it('ask for health and metrics at the port that METRICS_PORT opens', () => {
    for (const part of ['projector', 'api'] as const) {
      const port = generated('base/kustomization.yaml', part).METRICS_PORT;
      expect(workload(part)).toContain(`name: metrics, containerPort: ${port}`);
      expect(workload(part)).toContain(`prometheus.io/port: '${port}'`);
      const probes = workload(part).matchAll(/(\w+)Probe:\n +httpGet: \{ path: (\S+), port: metrics \}/g);
      expect(Object.fromEntries([...probes].map(([, probe, path]) => [probe, path]))).toEqual({
        startup: '/healthz',
        readiness: '/readyz',
        // Not /readyz: a process that waits for Kafka or Redis is not mended by a restart.
        liveness: '/healthz',
      });
    }
  });

  it('have a new process before an old one goes, and refuse pods with more rights', () => {
    for (const part of ['projector', 'api'] as const) {
      expect(workload(part)).toContain('rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }');
      expect(document(`base/${part}.yaml`, 'PodDisruptionBudget', part)).toContain('maxUnavailable: 1\n');
      expect(workload(part)).toContain('topologyKey: kubernetes.io/hostname\n');
      // A process that answers late is not ended for that.
      const patient = /livenessProbe:\n.*\n +periodSeconds: 10\n +timeoutSeconds: 5\n +failureThreshold: [36]\n/;
      expect(workload(part)).toMatch(patient);
    }
    // A fold of a large log takes minutes.
    expect(workload('projector')).toMatch(/startupProbe:\n.*\n +periodSeconds: 5\n +failureThreshold: 120\n/);
    expect(read('../Dockerfile')).toContain(' --start-period=10m ');
    expect(read('example/namespace.yaml')).toContain('pod-security.kubernetes.io/enforce: restricted\n');
  });

  it('give the API the time that it drains for', () => {
    const seconds = (pattern: RegExp): number => Number(pattern.exec(workload('api'))![1]);
    const drain = Number(generated('base/kustomization.yaml', 'api').DRAIN_SECONDS);
    const needed = seconds(/preStop: \{ sleep: \{ seconds: (\d+)/) + drain + 5;
    expect(seconds(/terminationGracePeriodSeconds: (\d+)/)).toBeGreaterThan(needed);
  });
});
