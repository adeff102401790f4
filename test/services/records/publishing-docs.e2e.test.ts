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
import { runCli } from '../../../services/command-line.ts';
import { Checkout, Guide, root } from '../../support/processes/guide.ts';
import { heard } from '../../support/processes/heard.ts';
import { freshKeyPrefix, kafkaBrokers, redisUrl } from '../../support/servers/backends.ts';
import { TestKafka } from '../../support/servers/kafka.ts';

// The shell blocks of docs/publishing.md, as they are pasted: one service over Kafka for all that need it.

const guide = new Guide('publishing.md');
const kafka = new TestKafka();
const [port] = await freePorts(1);
const checkout = new Checkout();
const onKafka = {
  KAFKA_BROKERS: kafkaBrokers(),
  KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
  REDIS_URL: redisUrl(),
  REDIS_KEY_PREFIX: freshKeyPrefix(),
};
const path = (name: string): string => join(checkout.dir, name);
// The commands that make an archive and serve it are those of docs/mock.md.
const ask = guide.shell('--archive ./tried')[0]!.trimEnd().split('\n').at(-1)!;
const tacos = async (): Promise<{ ride: string }[]> =>
  JSON.parse(await checkout.bash(ask.replace('8080', `${port}`).replace('curl', 'curl -sf'))).nights;

beforeAll(async () => {
  symlinkSync(join(root, 'docs'), path('docs'));
  const all = guide.shell('npx ride-calendar topics')[0]!;
  await checkout.serve(all, /Ctrl-C stops it/, { ...onKafka, PORT: `${port}` });
});
afterAll(async () => {
  checkout.close();
  await kafka[Symbol.asyncDispose]();
});

test('a developer’s key is made, and its hash', async () => {
  const [hash, key] = (await checkout.bash(`${guide.shell('openssl rand')[0]}echo "$KEY"`)).split('\n');
  expect(key).toMatch(/^rck_[\w-]{43}$/);
  expect(hash).toBe(`${createHash('sha256').update(key!).digest('hex')}  -`);
});

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
    await checkout.bash(guide.shell('psql')[0]!, { ...onKafka, PGHOST: dir, PGUSER: 'rides' });
    const loaded = await heard((io) => runCli(['records', 'print', '--topic', 'riders', '--key', 'u_cy'], io, onKafka));
    expect(loaded.out.join()).toContain('"cy"');
  } finally {
    run('pg_ctl', '-D', data, '-m', 'immediate', 'stop');
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a change is seen, and a trial taken away', async () => {
  const rider = { topic: 'riders', value: { rider: 'u_ada', handle: 'ada' } };
  if (!existsSync(path('riders.jsonl'))) writeFileSync(path('riders.jsonl'), JSON.stringify(rider));
  expect(await tacos()).toMatchObject([{ ride: 'taco' }]);
  const [first, ...others] = guide.shell('lag --until')[0]!.split('\n');
  const { topic, partition, offset } = JSON.parse((await checkout.bash(first!, onKafka)).split('\n')[0]!);
  const seen = others.join('\n').replace('riders/1@42', `${topic}/${partition}@${offset}`);
  expect(await checkout.bash(seen, onKafka)).toMatch(/ is readable\n(?:.*\n)* {2}shown: .*\n(?:.*\n)*.*"Kenton Park"/);
  await checkout.bash(guide.shell('tombstones.jsonl')[0]!, onKafka);
  const tombstone = { topic: 'rides', key: 'taco', value: null };
  expect(JSON.parse(readFileSync(path('tombstones.jsonl'), 'utf8'))).toEqual(tombstone);
  await expect.poll(tacos).toEqual([]);
});

test('there are no other shell blocks', () => {
  expect(guide.unrun()).toEqual([]);
});
