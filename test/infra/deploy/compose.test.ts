import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settingRules } from '../../../services/settings/settings-schema.ts';

// What can be read off the deployment files without an engine or a cluster.

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../infra/deploy/${name}`, import.meta.url)), 'utf8');

/** The indented block under a key at a depth of two spaces: a service of compose.yaml. */
const service = (name: string): string =>
  new RegExp(`^  ${name}:\\n((?:    .*\\n|\\n)+)`, 'm').exec(read('compose.yaml'))?.[1] ?? '';

describe('the image', () => {
  it('is made without running a script of any package', () => {
    const installs = read('Dockerfile').match(/npm (?:ci|install|i)\b.*/g)!;
    expect(installs.length).toBeGreaterThan(1);
    expect(installs.filter((line) => !line.includes('--ignore-scripts'))).toEqual([]);
  });

  it('serves the sample for reading when it is run alone', () => {
    expect(read('Dockerfile')).toContain('CMD ["start", "--allow-no-sign-in"]');
    expect(read('Dockerfile')).toMatch(/^USER 10001/m);
  });
});

describe('compose', () => {
  it('signs each service in to Redis as its own user, with the password of the users’ file', () => {
    const users = read('redis-users.acl');
    for (const [part, setting, user] of [
      ['projector', 'REDIS_URL', 'projector'],
      ['api', 'REDIS_URL', 'api'],
      ['api', 'AUTH_REDIS_URL', 'sign-in'],
      ['operator', 'REDIS_URL', 'operator'],
      ['operator', 'AUTH_REDIS_URL', 'operator'],
    ] as const) {
      const [, name, password] = new RegExp(`^ +${setting}: redis://([^:]+):([^@]+)@`, 'm').exec(service(part))!;
      expect(name).toBe(user);
      expect(users).toContain(`user ${user} on >${password} `);
    }
  });

  it('mounts files that are there', () => {
    const mounted = [...read('compose.yaml').matchAll(/\.\/([\w.-]+):\//g)].map((match) => match[1]!);
    expect(mounted.length).toBeGreaterThan(4);
    for (const name of mounted) expect(read(name)).not.toBe('');
  });

  const services = ['topics', 'simulate', 'projector', 'api', 'operator'];

  it('publishes no port of the API itself, so that more than one can run', () => {
    expect(service('api')).not.toContain('ports:');
    expect(service('proxy')).toContain("'127.0.0.1:8080:8080'");
  });

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

  it('opens ports on this machine alone, and has no administrator of Grafana with a known password', () => {
    const ports = [...read('compose.yaml').matchAll(/^ +ports: \['([^']+)'\]$/gm)].map((match) => match[1]!);
    expect(ports).toHaveLength(read('compose.yaml').match(/^ +ports:/gm)!.length);
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    expect(service('grafana')).toContain("GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true'");
  });

  it('runs any command as the operator, who may do all, and never by itself', () => {
    expect(service('operator')).toContain('profiles: [operator]');
    expect(service('operator')).toContain('REDIS_URL: redis://operator:');
    expect(read('redis-users.acl')).toMatch(/^user operator on .* \+@all$/m);
    expect(read('.env')).not.toContain('operator');
  });

  it.each(['topics', 'simulate', 'operator'])('asks %s, which serves nothing, for no health', (name) => {
    expect(service(name)).toContain('healthcheck: { disable: true }');
  });

  it('gives each service settings that exist', () => {
    const names = services.flatMap((name) => service(name).match(/^ {6}([A-Z_]+):/gm) ?? []);
    expect(names.length).toBeGreaterThan(5);
    expect(names.map((name) => name.trim().slice(0, -1)).filter((name) => !(name in settingRules))).toEqual([]);
  });
});
