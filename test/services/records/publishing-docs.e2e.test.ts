import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { freePorts } from '../../../infra/local/free-port.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { readLine } from '../../../services/records/json-lines/json-line.ts';
import { Checkout, Guide } from '../../support/processes/guide.ts';
import { root } from '../../support/processes/process.ts';
import { ran } from '../../support/processes/ran.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { freshRedis, kafkaBrokers } from '../../support/servers/backends.ts';
import { TestKafka } from '../../support/servers/kafka.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';
import { pythonWith } from '../../support/servers/python-package.ts';

// The shell blocks of docs/publishing.md, as they are pasted: one service over Kafka for all that need it. And its
// producers, which publishers copy.

const guide = new Guide('publishing.md');
const open = testStack();
const kafka = open.use(new TestKafka());
const [port] = await freePorts(1);
const checkout = open.use(new Checkout());
const onKafka = { ...kafka.env, ...freshRedis() };
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
    const loaded = await ran(['records', 'print', '--topic', 'riders', '--key', 'u_cy'], onKafka);
    expect(loaded.out.join()).toContain('"cy"');
  } finally {
    run('pg_ctl', '-D', data, '-m', 'immediate', 'stop');
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a change is seen, and a trial taken away', async () => {
  writeFileSync(path('riders.jsonl'), '{"topic":"riders","value":{"rider":"u_ada","handle":"ada"}}');
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

test.each([
  ['Node', 'publish-example.js', async () => process.execPath],
  [
    'Python',
    'publish_example.py',
    async () => `${await pythonWith('fastavro', '1.13.1', 'confluent-kafka==2.16.1')}/python`,
  ],
])(
  'the producer in %s writes the bytes of the service’s own, each where it belongs',
  async (_, file, program) => {
    await using kafka = new TestKafka();
    const partitions = 4;
    await kafka.createTopics({ partitions });
    const command = await program();
    const publish = (input: readonly string[]) => {
      const env = { ...process.env, ...kafka.env };
      return spawnSync(command, [join(root, 'docs', file)], { env, input: `${input.join('\n')}\n` }).status;
    };
    const good = readFileSync(join(root, 'docs/example-records.jsonl'), 'utf8').trim().split('\n');
    const lines = [...good, ...good.map((line) => JSON.stringify({ ...JSON.parse(line), value: null }))];
    expect(publish(lines)).toBe(0);
    const all = lines.map((line) => readLine(Buffer.from(line), 0));
    for (const topic of topicNames) {
      const found = await readTopic(kafkaBrokers(), kafka.topicPrefix + topic);
      const wanted = all
        .filter((one) => one.topic === topic)
        .map(({ keyBytes: key, valueBytes: value }) => ({ partition: murmur2Partition(key, partitions), key, value }));
      expect(wanted.length).toBeGreaterThan(1);
      const byPartition = wanted.sort((a, b) => a.partition - b.partition);
      expect(found.map(({ partition, key, value }) => ({ partition, key, value }))).toEqual(byPartition);
    }
    const bad = good.find((line) => line.includes('"nights"'))!.replace('"ON"', '"PERHAPS"');
    expect(publish([bad])).not.toBe(0);
  },
  600_000,
);
