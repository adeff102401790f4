import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultTopicPrefix } from '../../../schemas/events/records.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { settingRules } from '../../../services/settings/settings-schema.ts';
import { loadSignInFiles } from '../../../services/settings/sign-in-files.ts';
import { testFolder } from '../../support/processes/test-folder.ts';

// What can be read off the deployment files without an engine or a cluster.

const folder = testFolder();
const read = (name: string): string => readFileSync(new URL(`../../../infra/deploy/${name}`, import.meta.url), 'utf8');

/** The indented block under a key at a depth of two spaces: a service of compose.yaml. */
const service = (name: string): string =>
  new RegExp(`^  ${name}:\\n((?:    .*\\n|\\n)+)`, 'm').exec(read('compose.yaml'))?.[1] ?? '';

it('the image is made without running a script of any package, and does not run as root', () => {
  const installs = read('Dockerfile').match(/npm (?:ci|install|i)\b.*/g)!;
  expect(installs.length).toBeGreaterThan(1);
  expect(installs.filter((line) => !line.includes('--ignore-scripts'))).toEqual([]);
  expect(read('Dockerfile').match(/^USER .*/gm)).toEqual(['USER 10001:10001']);
});

describe('compose', () => {
  it('keeps no secret in a file that git has: each comes from the folder of its own service', () => {
    expect(read('compose.yaml')).not.toMatch(/:\/\/[^/\s]*:[^/\s]*@|known-to-everybody/);
    for (const [part, ...names] of [
      ['projector', 'REDIS_URL'],
      ['api', 'REDIS_URL', 'AUTH_REDIS_URL', 'SIGN_IN_CLIENT_SECRET', 'OAUTH_COOKIE_KEYS'],
      ['operator', 'REDIS_URL', 'AUTH_REDIS_URL'],
    ] as const) {
      const text = service(part);
      expect(text).toContain(`{ <<: *secrets, source: ./secrets/${part} }`);
      const files = text.matchAll(/^ {6}([A-Z_]+)_FILE: (?:\/secrets\/|\$\{SIGN_IN_ISSUER:\+\/secrets\/)/gm);
      expect([...files].map(([, name]) => name)).toEqual(names);
    }
    for (const part of ['redis', 'auth-redis']) expect(service(part)).toContain('--aclfile, /secrets/users.acl]');
    // None that a container can change, or that Docker makes where there is none yet.
    expect(read('compose.yaml')).toContain('target: /secrets, read_only: true, bind: { create_host_path: false } }\n');
  });

  it('has the metrics on a port of their own, which Prometheus and the proxy’s checks ask and the proxy does not pass on', () => {
    const [, port] = /^ {2}METRICS_PORT: (\d+)$/m.exec(read('compose.yaml'))!;
    for (const part of ['projector', 'api']) expect(service(part)).toMatch(/<<: .*\*metrics\b/);
    expect(read('prometheus.yaml')).toContain(`names: [projector, api], type: A, port: ${port},`);
    const checked = `\n  server-template api 10 api:8080 check port ${port} inter 1s fall 2 rise 1 `;
    expect(read('haproxy.cfg')).toContain(checked);
    expect(read('haproxy.cfg')).toContain('\n  option httpchk GET /readyz\n');
    expect(port).not.toBe('8080');
    for (const name of ['prometheus.yaml', 'systemd/example/prometheus.yaml'])
      expect(read(name)).toContain('job_name: node\n    honor_labels: true\n');
  });

  it('says for whom it asks, and asks another API what one took and did not answer, if it is a read; so does the example of systemd', () => {
    for (const line of [
      'timeout client 30s',
      'timeout server 30s',
      'option forwardfor',
      'option allbackups',
      'option redispatch',
      'retries 3',
      'retry-on conn-failure empty-response response-timeout',
      'http-request set-timeout server 5s if read',
      'http-request disable-l7-retry unless read METH_GET || METH_OPTIONS',
    ])
      expect(read('haproxy.cfg')).toContain(`\n  ${line}\n`);
    // All of it, but for its own address, its log, and whom it asks.
    const [ours, example] = ['haproxy.cfg', 'systemd/example/haproxy.cfg'].map((name) =>
      read(name).match(/^(?!#|\s*$| +(?:#|log|bind|server|parse|hold)|resolvers).*$/gm),
    ) as unknown as [string[], string[]];
    expect(example).toEqual(expect.arrayContaining(ours));
    // Riders' tokens pass nowhere unencrypted.
    for (const line of [
      'http-request redirect scheme https unless { ssl_fc }',
      'http-request deny deny_status 429 if { sc_http_req_rate(0) gt 500 }',
      'ssl-default-bind-options ssl-min-ver TLSv1.2',
    ])
      expect(example).toContain(`  ${line}`);
  });

  it('starts its servers again, two projectors and APIs each, and has Kafka make no topic by itself, nor does the example of systemd', () => {
    for (const part of ['kafka', 'redis', 'auth-redis', 'proxy']) expect(service(part)).toContain('<<: *service\n');
    for (const part of ['projector', 'api']) {
      expect(service(part)).not.toMatch(/^ {4}restart:/m);
      expect(service(part)).toContain('deploy: { replicas: 2 }\n');
    }
    expect(read('compose.yaml').match(/^ {2}restart: .*$/gm)).toEqual(['  restart: unless-stopped']);
    expect(read('systemd/example/kafka.service')).toContain('\nRestart=always\n');
    // What runs to its end; the others wait for that of `topics`.
    for (const part of ['topics', 'operator', 'backup-archive', 'backup-sign-in'])
      expect(service(part)).toContain("    restart: 'no'\n");
    expect(service('kafka')).toContain("KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false'");
    expect(read('systemd/example/kafka.properties')).toContain('\nauto.create.topics.enable=false\n');
  });

  it('mounts schemas of publishers where they are read', () => {
    for (const part of ['projector', 'operator', 'backup-archive'])
      expect(service(part)).toMatch(/WRITER_SCHEMAS: \/writer-schemas\n[\s\S]*volumes: \[\*schemas, /);
    expect(read('compose.yaml')).toContain('&schemas ./writer-schemas:/writer-schemas:ro\n');
  });

  it('opens ports on this machine alone, as the example of systemd does, and none of the API’s own, since more than one can run', () => {
    const ports = [...read('compose.yaml').matchAll(/^ +ports: (.*)$/gm)].map(([, listed]) => listed!);
    expect(ports.filter((port) => !/^\['\$\{[A-Z_]+:-127\.0\.0\.1:\d+\}:\d+'\]$/.test(port))).toEqual([]);
    expect(service('api')).not.toContain('ports:');
    expect(service('api')).toContain('TRUST_PROXY: 10.0.0.0/8,172.16.0.0/12,192.168.0.0/16\n');
    for (const what of ['views', 'sign-in'])
      expect(read(`systemd/example/redis-${what}.conf`)).toMatch(/^bind 127\.0\.0\.1\n[\s\S]*^aclfile \S/m);
    expect(new Set(read('systemd/example/kafka.properties').match(/\/\/[^:]*/g))).toEqual(new Set(['//127.0.0.1']));
    expect(service('grafana')).toContain("GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true'");
  });

  it('makes no rides up, and runs no command as the operator, unless it is asked to', () => {
    expect(service('simulate')).toContain(`deploy: { replicas: '\${SIMULATE:-0}' }`);
    expect(service('operator')).toContain('profiles: [operator]');
  });

  const redises = Object.entries({ redis: 'views', 'auth-redis': 'sign-in' });
  it.each(redises)('gives %s a limit below its container’s and never evicts, as in systemd’s example', (name, what) => {
    const bytes = (size: string) => Number.parseInt(size, 10) * (size.includes('g') ? 1024 : 1);
    const [, container] = /^ {4}mem_limit: \$\{[A-Z_]+:-(\d+[mg])\}$/m.exec(service(name))!;
    const [, redis] = /--maxmemory, '\$\{[A-Z_]+:-(\d+[mg])b\}', --maxmemory-policy, noeviction/.exec(service(name))!;
    expect(bytes(container!)).toBeGreaterThanOrEqual(1.5 * bytes(redis!));
    expect(read(`systemd/example/redis-${what}.conf`)).toMatch(/^maxmemory \w+\nmaxmemory-policy noeviction$/m);
  });

  // docs/rules.md#sign-in-state
  it('keeps the log, the archive, the signing key and what sign-in’s Redis holds through a restart, the latter in the example of systemd too', () => {
    expect(service('kafka')).toMatch(/KAFKA_LOG_DIRS: (\S+)\n[\s\S]*volumes: \[kafka:\1\]/);
    expect(service('backup-archive')).toMatch(/archive, \/kept\/archive\]\n[\s\S]*\.\/backup\/kept:\/kept, /);
    expect(service('api')).toContain('- api:/data\n');
    expect(service('auth-redis')).toMatch(/--appendonly, 'yes',[\s\S]*volumes: \[auth-redis:\/data, /);
    expect(read('systemd/example/redis-sign-in.conf')).toMatch(/^appendonly yes$/m);
  });

  it('gives an API that is told to stop the time that it drains for, here and in the unit of systemd', () => {
    const needed = loadSettings({ REDIS_URL: 'redis://redis' }).drainSeconds + 5;
    const [, grace] = /stop_grace_period: (\d+)s/.exec(service('api'))!;
    const [, timeout] = /^TimeoutStopSec=(\d+)$/m.exec(read('systemd/ride-calendar-api@.service'))!;
    for (const seconds of [grace, timeout]) expect(Number(seconds)).toBeGreaterThan(needed);
  });

  it('runs the image of this checkout’s version unless VERSION says which', () => {
    const { version } = JSON.parse(read('../../package.json'));
    const images = read('compose.yaml').match(/^ +image: .*ride-calendar.*$/gm);
    expect(images).toEqual([`  image: \${IMAGE:-ride-calendar}:\${VERSION:-${version}}`]);
  });

  it('gives each service settings that exist', () => {
    const services = ['topics', 'simulate', 'projector', 'api', 'operator'].map(service).join('');
    const names = [...services.matchAll(/^ {6}([A-Z_]+?)(?:_FILE)?:/gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !(name in settingRules))).toEqual([]);
  });
});

it('Debezium’s connector publishes to the log’s topics, and an empty payload as a tombstone', () => {
  const properties = read('debezium-outbox.properties');
  expect(properties).toContain(`route.topic.replacement=${defaultTopicPrefix}\${routedByValue}\n`);
  for (const line of [
    'transforms.outbox.route.tombstone.on.empty.payload=true',
    // Rows of before are in the load; a row may be deleted before its transaction ends; values are bytes.
    'snapshot.mode=no_data',
    'skipped.operations=u,d,t',
    'key.converter=org.apache.kafka.connect.storage.StringConverter',
    'value.converter=io.debezium.converters.BinaryDataConverter',
  ])
    expect(properties).toContain(`\n${line}\n`);
});

// docs/metrics.md#traces
it('traces hold no query of a request, and of Redis the names of commands alone', async () => {
  const got: {
    ignoreIncomingRequestHook?(request: { url: string }): boolean;
    requestHook?(span: object, request: { url: string }): void;
    dbStatementSerializer?(command: string, args: string[]): string;
  } = {};
  class Sdk {
    start() {}
  }
  class Instrumentation {
    constructor(options: object) {
      Object.assign(got, options);
    }
  }
  const libraries = { NodeSDK: Sdk, HttpInstrumentation: Instrumentation, IORedisInstrumentation: Instrumentation };
  const code = read('traces.mjs')
    .replace(/^import .*$/m, '')
    .replaceAll(/await import\(.*?\)/g, 'libraries');
  new Function('libraries', 'register', 'process', code.replaceAll('import.meta.url', "''"))(libraries, () => {}, {
    once() {},
  });
  const ignored = ['/healthz', '/readyz', '/metrics', '/api/me'].map((url) => got.ignoreIncomingRequestHook!({ url }));
  expect(ignored).toEqual([true, true, true, false]);
  const attributes: string[][] = [];
  const span = { setAttribute: (...attribute: string[]) => attributes.push(attribute) };
  for (const url of ['/oauth/callback?code=secret', '/docs']) got.requestHook!(span, { url });
  expect(attributes).toEqual([['url.query', 'REDACTED']]);
  expect(got.dbStatementSerializer!('get', ['ride-calendar:g1:ada'])).toBe('get');
});

it('compose-secrets.sh makes each user’s password anew, once, the same in the users’ file and in the URLs, for nobody else, and all that an API takes but for the client secret, which the provider gives', async () => {
  for (const name of ['compose-secrets.sh', 'redis-users.acl'])
    copyFileSync(new URL(`../../../infra/deploy/${name}`, import.meta.url), join(folder, name));
  const makes = () => execFileSync(join(folder, 'compose-secrets.sh'), { stdio: 'pipe' });
  const made = (name: string) => readFileSync(join(folder, 'secrets', name), 'utf8');
  makes();
  const passwords = ['projector', 'api', 'sign-in', 'operator'].map((user) => {
    const [, password] = new RegExp(`^user ${user} on >([0-9a-f]{64}) `, 'm').exec(made('redis/users.acl'))!;
    return [user, password!] as const;
  });
  expect(new Set(passwords.map(([, password]) => password)).size).toBe(4);
  const password = Object.fromEntries(passwords);
  for (const [file, user, host] of [
    ['projector/redis-url', 'projector', 'redis'],
    ['api/redis-url', 'api', 'redis'],
    ['api/auth-redis-url', 'sign-in', 'auth-redis'],
    ['operator/redis-url', 'operator', 'redis'],
    ['operator/auth-redis-url', 'operator', 'auth-redis'],
  ] as const)
    expect(made(file)).toBe(`redis://${user}:${password[user]}@${host}:6379\n`);
  // All else of the users is as it was, and none has the password that everybody knows.
  const without = (text: string) => text.replaceAll(/ >[\w-]+ /g, ' > ');
  expect(without(made('redis/users.acl'))).toBe(without(read('redis-users.acl')));
  expect(made('redis/users.acl')).not.toContain('known-to-everybody');
  // Nobody else of this machine comes to them; made again, they stay as they are.
  const before = made('redis/users.acl');
  expect(statSync(join(folder, 'secrets')).mode & 0o077).toBe(0);
  expect(statSync(join(folder, 'secrets/redis/users.acl')).mode & 0o004).toBe(4);
  makes();
  expect(made('redis/users.acl')).toBe(before);

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
