import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSettings } from '../../../services/settings/settings.ts';
import { settingRules } from '../../../services/settings/settings-schema.ts';
import { loadSignInFiles } from '../../../services/settings/sign-in-files.ts';

// What can be read off the deployment files without an engine or a cluster.

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../infra/deploy/${name}`, import.meta.url)), 'utf8');

/** The indented block under a key at a depth of two spaces: a service of compose.yaml. */
const service = (name: string): string =>
  new RegExp(`^  ${name}:\\n((?:    .*\\n|\\n)+)`, 'm').exec(read('compose.yaml'))?.[1] ?? '';

/** The names of `A:x,B:y`, each with what follows. */
const pairsOf = (list: string): [string, string][] =>
  list.split(/,(?=[A-Z]+:)/).map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)]);

it('the image is made without running a script of any package', () => {
  const installs = read('Dockerfile').match(/npm (?:ci|install|i)\b.*/g)!;
  expect(installs.length).toBeGreaterThan(1);
  expect(installs.filter((line) => !line.includes('--ignore-scripts'))).toEqual([]);
});

describe('compose', () => {
  it('keeps no secret in a file that git has: each comes from the folder of its own service', () => {
    expect(read('compose.yaml')).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@|known-to-everybody/);
    for (const [part, names] of [
      ['projector', ['REDIS_URL']],
      ['api', ['REDIS_URL', 'AUTH_REDIS_URL', 'SIGN_IN_CLIENT_SECRET', 'OAUTH_COOKIE_KEYS']],
      ['operator', ['REDIS_URL', 'AUTH_REDIS_URL']],
    ] as const) {
      expect(service(part)).toContain(`{ <<: *secrets, source: ./secrets/${part} }`);
      const files = [
        ...service(part).matchAll(/^ {6}([A-Z_]+)_FILE: (?:\/secrets\/|\$\{SIGN_IN_ISSUER:\+\/secrets\/)/gm),
      ];
      expect(files.map(([, name]) => name)).toEqual(names);
    }
    for (const part of ['redis', 'auth-redis']) expect(service(part)).toContain('--aclfile, /secrets/users.acl]');
  });

  it('mounts files that are there', () => {
    const mounted = [...read('compose.yaml').matchAll(/\.\/([\w.-]+):\//g)].map((match) => match[1]!);
    expect(mounted.length).toBeGreaterThan(3);
    for (const name of mounted.filter((each) => each !== 'writer-schemas')) expect(read(name)).not.toBe('');
    expect(read('writer-schemas/README.md')).toContain('WRITER_SCHEMAS');
  });

  const services = ['topics', 'simulate', 'projector', 'api', 'operator'];

  it('has the metrics on a port of their own, which Prometheus and the proxy’s checks ask and the proxy does not pass on', () => {
    const [, port] = /^ {2}METRICS_PORT: (\d+)$/m.exec(read('compose.yaml'))!;
    for (const part of ['projector', 'api']) expect(service(part)).toMatch(/<<: .*\*metrics\b/);
    expect(read('prometheus.yaml')).toContain(`names: [projector, api], type: A, port: ${port},`);
    expect(read('haproxy.cfg')).toMatch(new RegExp(`^  server-template api \\d+ api:8080 check port ${port} `, 'm'));
    expect(port).not.toBe('8080');
  });

  it('asks another API what one took and did not answer, if it is a read', () => {
    expect(read('haproxy.cfg')).toMatch(/^ {2}retry-on conn-failure empty-response response-timeout$/m);
    expect(read('haproxy.cfg')).toMatch(/^ {2}http-request set-timeout server 5s if read$/m);
    expect(read('haproxy.cfg')).toMatch(/^ {2}http-request disable-l7-retry unless read METH_GET \|\| METH_OPTIONS$/m);
  });

  it('opens ports on this machine alone, none of the API’s own, and has no administrator of Grafana with a known password', () => {
    const ports = [...read('compose.yaml').matchAll(/^ +ports: \['([^']+)'\]$/gm)].map((match) => match[1]!);
    expect(ports).toHaveLength(read('compose.yaml').match(/^ +ports:/gm)!.length);
    expect(ports.filter((port) => !/^\$\{[A-Z_]+:-127\.0\.0\.1:\d+\}:\d+$/.test(port))).toEqual([]);
    // More than one API can run.
    expect(service('api')).not.toContain('ports:');
    expect(service('grafana')).toContain("GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true'");
  });

  it('has Kafka answer publishers on this machine at the address that it tells them, and containers at its name', () => {
    const [listeners, advertised, protocols] = [
      'LISTENERS',
      'ADVERTISED_LISTENERS',
      'LISTENER_SECURITY_PROTOCOL_MAP',
    ].map((name) => new Map(pairsOf(new RegExp(`^ {6}KAFKA_${name}: (.*)$`, 'm').exec(service('kafka'))![1]!)));
    expect([...protocols!.keys()].sort()).toEqual([...listeners!.keys()].sort());
    const [, host, port] = /^ {4}ports: \['(.+):(\d+)'\]$/m.exec(service('kafka'))!;
    expect([advertised!.get('HOST'), listeners!.get('HOST')]).toEqual([`//${host}`, `//:${port}`]);
    expect(read('compose.yaml')).toContain(`\n  KAFKA_BROKERS: ${advertised!.get('PLAINTEXT')!.slice(2)}\n`);
    // And the head says where that is.
    expect(read('compose.yaml').split(/^name:/m)[0]).toContain(host!.split(':-')[1]!.slice(0, -1));
  });

  it('makes no rides up unless it is asked to', () => {
    expect(service('simulate')).toContain(`deploy: { replicas: '\${SIMULATE:-0}' }`);
  });

  it('runs any command as the operator, who may do all, and never by itself', () => {
    expect(service('operator')).toContain('profiles: [operator]');
    expect(read('redis-users.acl')).toMatch(/^user operator on .* \+@all$/m);
  });

  it('gives every container a limit of memory and of its log', () => {
    const all = [...read('compose.yaml').matchAll(/^ {2}([a-z-]+):\n {4}<<: \*(service|image)$/gm)];
    const [, names] = read('compose.yaml').split(/^services:$/m);
    expect(all.map(([, name]) => name)).toEqual(
      [...names!.split(/^configs:$/m)[0]!.matchAll(/^ {2}([a-z-]+):$/gm)].map(([, name]) => name),
    );
    const unlimited = all.filter(([, name, kind]) => kind === 'service' && !/^ {4}mem_limit: /m.test(service(name!)));
    expect(unlimited).toEqual([]);
    expect(read('compose.yaml')).toMatch(/^x-image: &image\n {2}<<: \*service\n(.*\n)* {2}mem_limit: /m);
    expect(read('compose.yaml')).toMatch(/^x-service: &service\n(.*\n)* {2}logging: .*max-size: .*max-file: /m);
  });

  it.each(['redis', 'auth-redis'])('gives %s a limit below that of its container, and never evicts', (name) => {
    const bytes = (size: string) => Number.parseInt(size, 10) * (size.includes('g') ? 1024 : 1);
    const [, container] = /^ {4}mem_limit: \$\{[A-Z_]+:-(\d+[mg])\}$/m.exec(service(name))!;
    const [, redis] = /--maxmemory, '\$\{[A-Z_]+:-(\d+[mg])b\}', --maxmemory-policy, noeviction/.exec(service(name))!;
    expect(bytes(container!)).toBeGreaterThanOrEqual(1.5 * bytes(redis!));
  });

  it('runs the image of one version, that of this checkout unless VERSION says which', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
    expect(read('compose.yaml').match(/^ +image: .*ride-calendar.*$/gm)).toEqual([
      `  image: \${IMAGE:-ride-calendar}:\${VERSION:-${version}}`,
    ]);
  });

  it('gives each service settings that exist', () => {
    const names = services.flatMap((name) => service(name).match(/^ {6}([A-Z_]+):/gm) ?? []);
    expect(names.length).toBeGreaterThan(5);
    expect(
      names.map((name) => name.trim().slice(0, -1)).filter((name) => !(name.replace(/_FILE$/, '') in settingRules)),
    ).toEqual([]);
  });
});

describe('compose-secrets.sh', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ride-calendar-secrets-'));
    for (const name of ['compose-secrets.sh', 'redis-users.acl']) {
      copyFileSync(new URL(`../../../infra/deploy/${name}`, import.meta.url), join(folder, name));
    }
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const makes = () => execFileSync(join(folder, 'compose-secrets.sh'), { stdio: 'pipe' });
  const made = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8');

  it('makes each user’s password anew, the same in the users’ file and in the URLs', () => {
    makes();
    const passwords = ['projector', 'api', 'sign-in', 'operator'].map((user) => {
      const [, password] = new RegExp(`^user ${user} on >([0-9a-f]{64}) `, 'm').exec(made('redis/users.acl'))!;
      return [user, password!] as const;
    });
    expect(new Set(passwords.map(([, password]) => password)).size).toBe(4);
    const password = Object.fromEntries(passwords);
    expect(made('projector/redis-url')).toBe(`redis://projector:${password.projector}@redis:6379\n`);
    expect(made('api/redis-url')).toBe(`redis://api:${password.api}@redis:6379\n`);
    expect(made('api/auth-redis-url')).toBe(`redis://sign-in:${password['sign-in']}@auth-redis:6379\n`);
    expect(made('operator/redis-url')).toBe(`redis://operator:${password.operator}@redis:6379\n`);
    expect(made('operator/auth-redis-url')).toBe(`redis://operator:${password.operator}@auth-redis:6379\n`);
    // All else of the users is as it was, and none has the password that everybody knows.
    const without = (text: string) => text.replaceAll(/ >[\w-]+ /g, ' > ');
    expect(without(made('redis/users.acl'))).toBe(without(read('redis-users.acl')));
    expect(made('redis/users.acl')).not.toContain('known-to-everybody');
  });

  it('makes what an API takes, but for the client secret, which the provider gives', async () => {
    makes();
    const file = (name: string) => join(folder, 'secrets/api', name);
    const env = {
      REDIS_URL_FILE: file('redis-url'),
      AUTH_REDIS_URL_FILE: file('auth-redis-url'),
      OAUTH_COOKIE_KEYS_FILE: file('cookie-keys'),
      OAUTH_CLIENTS: file('oauth-clients.json'),
      DATA_DIR: folder,
    };
    expect((await loadSignInFiles(loadSettings(env))).clients).toEqual([]);
    const provider = {
      SIGN_IN_ISSUER: 'https://id.example.org',
      SIGN_IN_CLIENT_ID: 'calendar',
      SIGN_IN_CLIENT_SECRET_FILE: file('sign-in-client-secret'),
      BASE_URL: 'https://rides.example.org/api',
    };
    expect(() => loadSettings({ ...env, ...provider })).toThrow(
      /^Cannot use setting SIGN_IN_CLIENT_SECRET_FILE: .*the example’s/,
    );
  });

  it('lets nobody else of this machine to them, and changes nothing that is there', () => {
    makes();
    const before = made('redis/users.acl');
    expect(statSync(join(folder, 'secrets')).mode & 0o077).toBe(0);
    expect(statSync(join(folder, 'secrets/redis/users.acl')).mode & 0o004).toBe(4);
    makes();
    expect(made('redis/users.acl')).toBe(before);
  });
});
