import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseSigningKeys } from '../api/sign-in/tokens/signing-keys.ts';
import { freePorts } from '../infra/local/free-port.ts';
import { startRedisServer } from '../infra/local/redis-server.ts';
import { redisSignInState } from '../infra/redis/sign-in/redis-sign-in-state.ts';
import { loadSettings } from '../services/settings/settings.ts';
import { loadCookieKeys } from '../services/settings/sign-in-files.ts';
import { marks, says } from './reference/example-log.ts';
import { Checkout } from './support/processes/guide.ts';
import { TestKafka } from './support/servers/kafka.ts';
import { redisUsersFile } from './support/servers/redis-users.ts';

// The commands that docs/tasks.md says are tested, as they stand there.

const run = promisify(execFile);
const tasks = readFileSync(new URL('../docs/tasks.md', import.meta.url), 'utf8');
const signIn = readFileSync(new URL('../docs/sign-in.md', import.meta.url), 'utf8');
let checkout: Checkout;
beforeEach(() => {
  checkout = new Checkout();
});
afterEach(() => checkout[Symbol.dispose]());
const file = (name: string): string => join(checkout.dir, name);

/** The block of commands with a name. */
function block(name: string): string {
  const found = new RegExp(`^( *)\`\`\`sh ${name}\\n([\\s\\S]*?)^ *\`\`\`$`, 'm').exec(tasks + signIn);
  if (!found) throw new Error(`No document has a block ${name}`);
  return found[2]!.replaceAll(new RegExp(`^${found[1]}`, 'gm'), '');
}

/** Runs it as it stands, and resolves with what it prints. */
const runs = (name: string, env: Record<string, string> = {}) => checkout.bash(`set -o pipefail\n${block(name)}`, env);

const keysNow = async () => {
  const text = await readFile(file('oauth-keys.json'), 'utf8');
  return (await parseSigningKeys(text, 'the file')).map(({ kid, d }) => ({ kid, signs: d !== undefined }));
};

test('a signing key is rotated: the new one is known, then signs, then is the only one; one that leaked is replaced at once', async () => {
  const step = async (name: string) => {
    await runs(name);
    // To nobody else.
    expect((await stat(file('oauth-keys.json'))).mode & 0o077).toBe(0);
    return keysNow();
  };
  const [old] = await step('key');
  const appended = await step('rotate-1');
  expect(appended).toEqual([old, { kid: expect.not.stringMatching(`^${old!.kid}$`), signs: true }]);
  expect(await step('rotate-2')).toEqual([...appended].reverse());
  expect(await step('rotate-3')).toEqual([appended[1]]);
  expect(await step('key')).toEqual([{ kid: expect.not.stringMatching(`^${appended[1]!.kid}$`), signs: true }]);
});

// APIs restart one after the other, so those of two neighbouring steps serve the same riders side by side.
test('a cookie key is rotated so that APIs of two neighbouring steps know what the other signs with', async () => {
  const keysOf = (printed: string) => loadSettings({ OAUTH_COOKIE_KEYS: printed.trim() }).oauth.cookieKeys!;
  const step = async (name: string, env: Record<string, string>) => (await runs(name, env)).trim();
  // That in the default DATA_DIR.
  await mkdir(file('.ride-calendar'));
  const [made] = await loadCookieKeys(null, file('.ride-calendar'));
  const first = await step('cookie-keys-1', {});
  const second = await step('cookie-keys-2', { OAUTH_COOKIE_KEYS: first });
  expect(keysOf(first)).toEqual([made, expect.not.stringMatching(`^${made}$`)]);
  expect(keysOf(second)).toEqual([...keysOf(first)].reverse());
  // Or those of the setting.
  expect(keysOf(await step('cookie-keys-1', { OAUTH_COOKIE_KEYS: first })).slice(0, 2)).toEqual(keysOf(first));
});

test('sign-in’s Redis is backed up and restored, and then keeps what it has through a crash', async () => {
  const server = await startRedisServer({ persistence: 'aof', args: ['--aclfile', fileURLToPath(redisUsersFile)] });
  const store = redisSignInState({ url: server.url.replace('//', '//sign-in:known-to-everybody@') });
  await store.put('Grant', 'g', { n: 1 }, { lifeSeconds: 60, account: 'rider-1' });
  await store.close();
  await runs('backup', { AUTH_REDIS: server.url, REDISCLI_AUTH: 'known-to-everybody' });
  expect((await stat(file('sign-in.rdb'))).mode & 0o077).toBe(0);
  await server.stop();
  const [port] = await freePorts(1);
  const PORT = String(port);
  await runs('restore', { PORT });
  const restored = redisSignInState({ url: `redis://127.0.0.1:${PORT}` });
  try {
    expect(await restored.find('Grant', 'g')).toEqual({ n: 1 });
    expect(await restored.ofAccount('rider-1')).toHaveLength(1);
    expect(await restored.risk()).toBeNull();
  } finally {
    await restored.close();
    // While it writes its first append-only file, it ends only by force.
    await run('redis-cli', ['-p', PORT, 'shutdown', 'nosave', 'force']);
  }
});

test('a password of a Redis user is changed: both count at first, then the new one, and no connection ends', async () => {
  const acl = file('users.acl');
  await copyFile(redisUsersFile, acl);
  const server = await startRedisServer({ args: ['--aclfile', acl] });
  const old = 'known-to-everybody';
  const pings = (password: string) =>
    run('redis-cli', ['-u', server.url, '--user', 'api', 'ping'], {
      env: { ...process.env, REDISCLI_AUTH: password },
    }).then(({ stdout, stderr }) => (stdout + stderr).includes('PONG'));
  const kept = new Redis(server.url.replace('//', `//api:${old}@`), { retryStrategy: null });
  try {
    await kept.ping();
    const env = { REDIS: server.url, WHO: 'api', REDISCLI_AUTH: old };
    const fresh = (await runs('redis-password-1', env)).trim().split('\n').at(-1)!;
    expect(await Promise.all([pings(old), pings(fresh)])).toEqual([true, true]);
    await runs('redis-password-2', { ...env, NEW: fresh });
    expect(await Promise.all([pings(old), pings(fresh)])).toEqual([false, true]);
    expect(await kept.ping()).toBe('PONG');
    // As hashes, which a restart reads.
    const line = (await readFile(acl, 'utf8')).split('\n').find((text) => text.startsWith('user api '))!;
    expect(line.match(/#[0-9a-f]{64}/g)).toEqual([`#${createHash('sha256').update(fresh).digest('hex')}`]);
    expect(line).toContain('~ride-calendar:g*');
  } finally {
    kept.disconnect();
    await server.stop();
  }
});

test('a rider is erased by tombstones of all that names them, and of nothing else', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics({ settings: { 'min.compaction.lag.ms': '604800000', 'delete.retention.ms': '604800000' } });
  const env = { ...kafka.env, DATA_DIR: checkout.dir };
  const pairs = [marks('ada', 'bob', 'follows'), marks('bob', 'ada', 'follows'), marks('bob', 'adam', 'follows')];
  const goes = (rider: string) => says(rider, 'GOING', 'loop', '2026-11-26');
  await kafka.publish(...pairs, goes('ada'), goes('adam'));
  await runs('erase', { ...env, RIDER: 'ada' });
  const left = (await checkout.bash('npx ride-calendar records print', env)).trim().split('\n');
  const gone = left.map((line) => JSON.parse(line)).filter(({ value }) => value === null);
  expect(gone.map(({ key }) => key).sort()).toEqual(['ada/bob', 'bob/ada', 'loop/2026-11-26/ada']);
});

test('no command shows a password to all users of the machine', () => {
  const alerts = readFileSync(new URL('../docs/alerts.md', import.meta.url), 'utf8');
  const commands = [...(tasks + alerts).matchAll(/^.*\bredis-cli .*$/gm)].map(([line]) => line);
  expect(commands.length).toBeGreaterThan(5);
  expect(commands.filter((line) => /_URL\b| -a |--pass\b|:\/\/[^" ]*@/.test(line))).toEqual([]);
});
