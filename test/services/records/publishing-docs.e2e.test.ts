import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { freePorts } from '../../../infra/local/free-port.ts';
import { Checkout, Guide, root } from '../../support/processes/guide.ts';
import { freshKeyPrefix, kafkaBrokers, redisUrl } from '../../support/servers/backends.ts';
import { TestKafka } from '../../support/servers/kafka.ts';

// The shell blocks of docs/publishing.md, as they are pasted: one service over Kafka for all that need it.

const guide = new Guide('publishing.md');
const kafka = new TestKafka();
const [port, otherPort] = (await freePorts(2)) as [number, number];
const checkout = new Checkout();
const onKafka = {
  KAFKA_BROKERS: kafkaBrokers(),
  KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
  REDIS_URL: redisUrl(),
  REDIS_KEY_PREFIX: freshKeyPrefix(),
};
const path = (name: string): string => join(checkout.dir, name);
const [withArchive] = guide.shell('--archive ./tried');
const [publish, start, ask] = withArchive!.trimEnd().split('\n');
const tacos = async (of: number): Promise<{ ride: string }[]> =>
  JSON.parse(await checkout.bash(ask!.replace('8080', `${of}`).replace('curl', 'curl -sf'))).nights;

beforeAll(async () => {
  symlinkSync(join(root, 'docs'), path('docs'));
  const all = guide.shell('npx ride-calendar topics')[0]!;
  await checkout.serve(all, /Ctrl-C stops it/, { ...onKafka, PORT: `${port}` });
});
afterAll(async () => {
  checkout.close();
  await kafka[Symbol.asyncDispose]();
});

test('the example records are served from an archive', async () => {
  await checkout.serve(`${publish}\n${start}`, /Ctrl-C stops it/, { PORT: `${otherPort}` });
  expect(await tacos(otherPort)).toMatchObject([{ ride: 'taco' }]);
});

test('a developer’s key is made, and its hash', async () => {
  const [hash, key] = (await checkout.bash(`${guide.shell('openssl rand')[0]}echo "$KEY"`)).split('\n');
  expect(key).toMatch(/^rck_[\w-]{43}$/);
  expect(hash).toBe(`${createHash('sha256').update(key!).digest('hex')}  -`);
});

const [initialLoad] = guide.shell('psql');
const postgres = () => globSync('/usr/lib/postgresql/*/bin').at(-1);

test('a table of Postgres is loaded', async () => {
  await needProgram('Postgres', 'postgresql', 'run this test on Debian', async () => postgres() !== undefined);
  const dir = mkdtempSync(join(tmpdir(), 'ride-calendar-postgres-'));
  // It does not run as root.
  const owner = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (owner.uid) chownSync(dir, owner.uid, owner.gid);
  const run = (program: string, ...args: string[]) =>
    execFileSync(join(postgres()!, program), args, { ...owner, cwd: dir, stdio: 'ignore' });
  const data = join(dir, 'data');
  try {
    run('initdb', '-D', data, '-U', 'rides', '-A', 'trust', '--no-sync');
    run('pg_ctl', '-D', data, '-w', '-l', join(dir, 'log'), '-o', `-k ${dir} -c listen_addresses=`, 'start');
    run('psql', '-h', dir, '-U', 'rides', 'postgres', '-c', 'create database rides');
    const table = 'create table riders (id text, handle text, name text, version int, changed_at timestamptz)';
    const rows = "insert into riders values ('u_ada', 'ada', 'Ada', 2, now()), ('u_cy', 'cy', null, 1, now())";
    run('psql', '-h', dir, '-U', 'rides', 'rides', '-c', table, '-c', rows);
    await checkout.bash(initialLoad!, { ...onKafka, PGHOST: dir, PGUSER: 'rides' });
    expect(await checkout.bash('npx ride-calendar records print --topic riders --key u_cy', onKafka)).toContain('"cy"');
  } finally {
    run('pg_ctl', '-D', data, '-m', 'immediate', 'stop');
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a change is seen, and a trial taken away', async () => {
  const rider = { topic: 'riders', value: { rider: 'u_ada', handle: 'ada' } };
  if (!existsSync(path('riders.jsonl'))) writeFileSync(path('riders.jsonl'), JSON.stringify(rider));
  expect(await tacos(port)).toMatchObject([{ ride: 'taco' }]);
  const [first, ...others] = guide.shell('lag --until')[0]!.split('\n');
  const { topic, partition, offset } = JSON.parse((await checkout.bash(first!, onKafka)).split('\n')[0]!);
  const seen = others.join('\n').replace('riders/1@42', `${topic}/${partition}@${offset}`);
  expect(await checkout.bash(seen, onKafka)).toMatch(/ is readable\n(?:.*\n)* {2}shown: .*\n(?:.*\n)*.*"Kenton Park"/);
  await checkout.bash(guide.shell('tombstones.jsonl')[0]!, onKafka);
  expect(JSON.parse(readFileSync(path('tombstones.jsonl'), 'utf8'))).toEqual({
    topic: 'rides',
    key: 'taco',
    value: null,
  });
  await expect.poll(() => tacos(port)).toEqual([]);
});

test('there are no other shell blocks', () => {
  expect(guide.unrun()).toEqual([]);
});
