import { X509Certificate } from 'node:crypto';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import tls from 'node:tls';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KafkaConnection } from '../../../infra/kafka/client/kafka-connection.ts';
import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import { kafkaRejectSink } from '../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { ensureTopics } from '../../../infra/kafka/topics/ensure-topics.ts';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { certificateEndsMs } from '../../../infra/net/certificate-ends.ts';
import { LogTruncatedError } from '../../../projector/ports/event-log.ts';
import { freshGroup } from '../../support/servers/backends.ts';
import { makeCertificate } from '../../support/servers/certificate.ts';
import { metroValue, positionAt, TestKafka } from '../../support/servers/kafka.ts';
import { batchesIn, cutTail } from '../../support/servers/kafka-disk.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';
import { type SecuredKafka, startSecuredKafka } from '../../support/servers/secured-kafka.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { rejectAt } from '../../support/worlds/records.ts';

// What takes a broker that no other test has: TLS and credentials; then what a broker may do to a log, which is to crash, lose its
// tail, or hold bytes that are no batch.

const user = { username: 'rider', password: 'tyre=7;#pump' };
type Mechanism = NonNullable<KafkaConnection['sasl']>['mechanism'];
const authorities = tls.getCACertificates('default');
let broker: SecuredKafka;
let anyHost: string;
let certificateEndMs: number;

beforeAll(async () => {
  const certificate = makeCertificate(['localhost', '127.0.0.1']);
  broker = await startSecuredKafka({ users: [user], tls: certificate });
  certificateEndMs = new X509Certificate(certificate.cert).validToDate.getTime();
  anyHost = broker.brokers.replace('127.0.0.1', 'localhost');
  // What NODE_EXTRA_CA_CERTS does at the start of a process.
  tls.setDefaultCACertificates([...authorities, certificate.cert]);
});
afterAll(async () => {
  tls.setDefaultCACertificates(authorities);
  await broker?.stop();
});

const signedInBy = (mechanism: Mechanism, more: Partial<KafkaConnection> = {}): KafkaConnection => ({
  brokers: [broker.brokers],
  ssl: true,
  sasl: { mechanism, ...user },
  ...more,
});

test.each<[string, () => KafkaConnection]>([
  ['over TLS at a host name, signed in by plain', () => signedInBy('plain', { brokers: [anyHost] })],
  [
    'without TLS, signed in by scram-sha-512',
    () => signedInBy('scram-sha-512', { brokers: [broker.saslBrokers], ssl: false }),
  ],
])('%s, topics are made, records published, followed and set aside', async (_, connection) => {
  await using kafka = new TestKafka(connection());
  const sinceMs = performance.now();
  const made = await ensureTopics({ ...kafka.options, partitions: 1 });
  expect(made.map((topic) => topic.state)).toEqual(Array(9).fill('created'));
  const publisher = kafkaPublisher(kafka.options);
  const publish = (key: string) =>
    publisher.publish('metros', [{ key, value: metroValue(key), timestampMs: 1_700_000_000_000 }]);
  await publish('aa');
  const group = freshGroup();
  const answers = new Map<string, number>();
  const onAnswer = (request: string, seconds: number) => answers.set(request, (answers.get(request) ?? 0) + seconds);
  const eventLog = kafka.eventLog({ group, onAnswer });
  expect((await eventLog.bounds()).metros).toEqual([{ low: 0, end: 1 }]);
  const following = kafka.follow(eventLog, positionAt(1));
  await publish('bb');
  await expect.poll(() => following.keys).toEqual(['aa', 'bb']);
  await following.stop();
  expect([...answers.keys()].sort()).toEqual(['fetch', 'metadata', 'offsets']);
  // They wait for one another, in seconds.
  for (const seconds of answers.values()) expect(seconds).toBeLessThan((performance.now() - sinceMs) / 1000);
  const admin = await kafka.admin();
  const [committed] = await admin.fetchOffsets({ groupId: group, topics: [`${kafka.topicPrefix}metros`] });
  expect(committed!.partitions).toMatchObject([{ partition: 0, offset: '2' }]);
  await publisher.rejects.publish([rejectAt(1)]);
  await publisher.close();
  expect(await admin.fetchTopicOffsets(`${kafka.topicPrefix}rejected`)).toMatchObject([{ high: '1' }]);
  // Both clients noted when the broker's certificate ends, at each handshake.
  expect(certificateEndsMs().get('KAFKA_BROKERS')).toBe(certificateEndMs);
});

/** What reading and writing say where they are refused, and all that was logged. */
async function refused(connection: KafkaConnection): Promise<{ reading: string; writing: string; all: string }> {
  await using kafka = new TestKafka(connection);
  const messageOf = (promise: Promise<unknown>) => promise.then(String, ({ message }: Error) => message);
  const reading = await messageOf(kafka.eventLog().bounds());
  const publisher = kafkaPublisher(kafka.options);
  const writing = await messageOf(publisher.publish('metros', []));
  await publisher.close();
  return { reading, writing, all: [reading, writing, ...kafka.log.lines].join('\n') };
}

describe('what Kafka refuses for good ends the attempt with what to do', () => {
  const sasl = 'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD';
  const wrong = (mechanism: Mechanism) => () =>
    signedInBy(mechanism, { sasl: { mechanism, username: user.username, password: 'wheel-9' } });
  const atTls = (more: Partial<KafkaConnection> = {}) => signedInBy('plain', { brokers: [broker.tlsBrokers], ...more });
  test.each<[string, () => KafkaConnection, string, trusted?: string[]]>([
    ['a wrong password by plain', wrong('plain'), `refuses the credentials; check ${sasl}`],
    ['a wrong password by scram-sha-256', wrong('scram-sha-256'), `refuses the credentials; check ${sasl}`],
    ['a port that wants TLS', () => atTls({ ssl: false, sasl: null }), 'wants TLS there; set KAFKA_SSL=true'],
    ['a port that takes no credentials', atTls, `takes no credentials there; leave ${sasl} out`],
    ['a certificate of an untrusted authority', () => signedInBy('plain'), 'NODE_EXTRA_CA_CERTS', authorities],
  ])('%s, and no password is shown', async (_, connection, words, trusted) => {
    const before = tls.getCACertificates('default');
    tls.setDefaultCACertificates(trusted ?? before);
    const { reading, writing, all } = await refused(connection()).finally(() => tls.setDefaultCACertificates(before));
    for (const message of [reading, writing]) expect(message).toContain(words);
    expect(all).not.toMatch(/wheel-9|tyre/);
  });
});

test('a port that ends connections without a word is asked again, with what may be wrong', async () => {
  await using kafka = new TestKafka({ brokers: [broker.brokers], ssl: true, sasl: null });
  const eventLog = kafka.eventLog();
  const asked = eventLog.bounds().catch(() => null);
  await expect.poll(() => kafka.log.lines.join()).toMatch(/check KAFKA_SSL, and KAFKA_SASL_MECHANISM/);
  await eventLog.close();
  await asked;
});

const folderOf = (kafka: TestKafka, topic: string, partition = 0): string =>
  join(broker.dataFolder, `${kafka.topicPrefix}${topic}-${partition}`);
const logOf = (kafka: TestKafka, partition: number): string =>
  join(folderOf(kafka, 'metros', partition), `${'0'.repeat(20)}.log`);

/** Overwrites some bytes of the first batch, as a bad disk does. */
async function spoil(path: string, at: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, (await batchesIn(path))[0]!.start + at);
  await file.close();
}

/** A projector that sets bad records of `metros` aside, and has done so with three. */
async function settingAside() {
  const kafka = new TestKafka(broker.adminBrokers);
  await ensureTopics(kafka.options);
  const wanted: string[] = [];
  const send = async () => {
    await kafka.sendRaw('metros', [{ key: 'm', value: Buffer.from('bad') }]);
    wanted.push(String(wanted.length));
  };
  const places = async () => {
    const records = await readTopic(broker.adminBrokers, `${kafka.topicPrefix}rejected`);
    return records.map(({ headers }) => headers['ride-calendar.offset']).toSorted();
  };
  const holdsAll = (how: string) => expect.poll(places, { interval: 500, message: how }).toEqual(wanted);
  const started = () => {
    const sink = kafkaRejectSink(kafka.options);
    const eventLog = kafka.eventLog({ checkEveryMs: 500 });
    const { projector, stop } = startProjector(eventLog, new MemoryViewStore().writer(), sink);
    return { projector, stop: () => stop().then(() => sink.close()) };
  };
  let running = started();
  for (let i = 0; i < 3; i++) await send();
  await holdsAll('at first');
  return {
    kafka,
    /** Another one takes its place, after what is done meanwhile. */
    restart: async (meanwhile: () => Promise<void>) => {
      await running.stop();
      await meanwhile();
      running = started();
    },
    /** What it held, and one more. */
    holdsEachOnce: async (how: string) => {
      await holdsAll(how);
      await send();
      await holdsAll(how);
      expect(running.projector.status().notes).toEqual([]);
    },
    [Symbol.asyncDispose]: async () => {
      await running.stop();
      await kafka[Symbol.asyncDispose]();
    },
  };
}

// docs/rules.md#rejected
test('a broker that crashes: what is sent and read meanwhile arrives once and in order, a partition that lost its tail stops its follower, and bad records that are gone from `rejected` come again', async () => {
  await using kafka = new TestKafka(broker.adminBrokers);
  await using losing = new TestKafka(broker.adminBrokers);
  await using aside = await settingAside();
  for (const each of [kafka, losing]) await each.createTopics();
  for (const key of ['aa', 'bb', 'cc']) await losing.sendMetros([key]);
  const behind = losing.follow(losing.eventLog({ checkEveryMs: 200 }), positionAt(1));
  await expect.poll(() => behind.keys).toEqual(['aa', 'bb', 'cc']);
  const eventLog = kafka.eventLog({ checkEveryMs: 200 });
  const following = kafka.follow(eventLog, positionAt(1));
  const publisher = kafkaPublisher(kafka.options);
  const keys = Array.from({ length: 30 }, (_, i) => `m${i}`);
  for (const key of keys) {
    const sent = publisher.publish('metros', [{ key, value: metroValue(key), timestampMs: 1_600_000_000_000 }]);
    if (key === 'm10') {
      await broker.kill();
      // An unclean election, or a broker restored from a backup: the last two records are gone.
      expect(await cutTail(folderOf(losing, 'metros'), 2)).toBe(1);
      expect(await cutTail(folderOf(aside.kafka, 'rejected'), 1)).not.toBeNull();
      const bounds = eventLog.bounds();
      await expect.poll(() => kafka.log.lines.join()).toContain('Cannot read from Kafka');
      await broker.start();
      // It grows beyond what it was.
      await losing.sendMetros(['dd', 'ee', 'ff', 'gg']);
      expect((await bounds).metros[0]!.low).toBe(0);
    }
    await sent;
  }
  await publisher.close();
  await expect.poll(() => following.keys).toEqual(keys);
  expect(kafka.log.lines.join()).toContain('It could read from Kafka now: Kafka answers again');
  await expect(behind.done).rejects.toThrow(LogTruncatedError);
  await expect(behind.done).rejects.toThrow(/metros\/0@3: Kafka lost records that were read/);
  expect(behind.keys).toEqual(['aa', 'bb', 'cc']);
  await aside.holdsEachOnce('it is without its tail');
});

test('partitions that cannot be read leave the others of their broker flowing, share a line where they fail alike, and go on when mended', async () => {
  await using kafka = new TestKafka(broker.adminBrokers);
  await kafka.createTopics({ partitions: 4 });
  await kafka.sendMetros(['refused']);
  await kafka.sendMetros(['refused, too'], { partition: 3 });
  await kafka.sendMetros(['unreadable'], { partition: 1, compression: kafkajs.CompressionTypes.GZIP });
  const path = logOf(kafka, 1);
  const good = await readFile(path);
  // The broker refuses a batch of no length. Nobody can unpack one whose records, behind 61 bytes, do not begin.
  for (const partition of [0, 3]) await spoil(logOf(kafka, partition), 8, Buffer.alloc(4));
  await spoil(path, 61, Buffer.alloc(4));
  const following = kafka.follow(kafka.eventLog(), positionAt(4));
  for (const which of ['[03] and 1 other partition', '1'])
    await expect.poll(() => kafka.log.lines.join()).toMatch(RegExp(`${kafka.topicPrefix}metros/${which} from Kafka`));
  for (let i = 0; i < 5; i++) {
    await kafka.sendMetros([`other${i}`], { partition: 2 });
    await expect.poll(() => following.position.metros).toEqual([0, 0, i + 1, 0]);
  }
  await writeFile(path, good, { flag: 'r+' });
  await expect.poll(() => following.position.metros).toEqual([0, 1, 5, 0]);
}, 60_000);

// docs/rules.md#rejected
test('each bad record that the log holds is in `rejected` once, whatever that has lost, while a projector leads or before it began', async () => {
  await using aside = await settingAside();
  const makeAnew = () => aside.kafka.makeAnew('rejected');
  await makeAnew();
  await aside.holdsEachOnce('it is made anew');
  await aside.kafka.deleteRecords('rejected', 2);
  await aside.holdsEachOnce('it is without its head');
  // A start reads all that it holds, however it was lost.
  await aside.restart(makeAnew);
  await aside.holdsEachOnce('it is made anew between two starts');
});
