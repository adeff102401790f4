import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KafkaConnection } from '../../../../infra/kafka/client/kafka-connection.ts';
import { kafkaPublisher } from '../../../../infra/kafka/publishing/kafka-publisher.ts';
import { kafkaRejectSink } from '../../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { type Env, Processes } from '../../../support/processes/process.ts';
import { freshGroup, freshKeyPrefix, freshTopicPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';
import { metroValue, positionAt, TestKafka } from '../../../support/servers/kafka.ts';
import { type SecuredKafka, startSecuredKafka } from '../../../support/servers/secured-kafka.ts';

// A broker of its own that wants TLS and, at one of its ports, credentials: no other of the run does.

const user = { username: 'rider', password: 'tyre=7;#pump' };
const mechanisms = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
const processes = new Processes();
const authorities = tls.getCACertificates('default');
let broker: SecuredKafka;
let authorityFile: string;
let anyHost: string;

beforeAll(async () => {
  const certificate = makeCertificate(['localhost', '127.0.0.1']);
  authorityFile = join(await processes.folder(), 'authority.pem');
  await writeFile(authorityFile, certificate.cert);
  broker = await startSecuredKafka({ users: [user], tls: certificate });
  anyHost = broker.brokers.replace('127.0.0.1', 'localhost');
  // What NODE_EXTRA_CA_CERTS does at the start of a process.
  tls.setDefaultCACertificates([...authorities, certificate.cert]);
});
afterAll(async () => {
  tls.setDefaultCACertificates(authorities);
  await processes.close();
  await broker?.stop();
});

const signedInBy = (mechanism: (typeof mechanisms)[number], more: Partial<KafkaConnection> = {}): KafkaConnection => ({
  brokers: [broker.brokers],
  ssl: true,
  sasl: { mechanism, ...user },
  ...more,
});

const soon = { timeout: 20_000, interval: 50 };

describe('the event log', () => {
  test.each<[string, () => KafkaConnection]>([
    ...mechanisms.map((mechanism) => [`over TLS, signed in by ${mechanism}`, () => signedInBy(mechanism)] as const),
    ['over TLS at a host name', () => signedInBy('scram-sha-512', { brokers: [anyHost] })],
    ['over TLS alone', () => ({ brokers: [broker.tlsBrokers], ssl: true, sasl: null })],
    ['signed in without TLS', () => signedInBy('scram-sha-256', { brokers: [broker.saslBrokers], ssl: false })],
  ] as [string, () => KafkaConnection][])(
    '%s, topics are made, records published, followed and set aside',
    async (_, connection) => {
      await using kafka = new TestKafka(connection());
      expect((await ensureTopics({ ...kafka.options, partitions: 1 })).map(({ state }) => state)).toEqual(
        Array(9).fill('created'),
      );
      expect(new Set((await ensureTopics({ ...kafka.options, partitions: 1 })).map(({ state }) => state))).toEqual(
        new Set(['as planned']),
      );
      const publisher = kafkaPublisher(kafka.options);
      const record = (key: string) => ({ key, value: metroValue(key), timestampMs: 1_700_000_000_000 });
      await publisher.publish('metros', [record('aa'), record('bb')]);
      const group = freshGroup();
      const eventLog = kafka.eventLog({ group });
      expect((await eventLog.bounds()).metros).toEqual([{ low: 0, end: 2 }]);
      const following = kafka.follow(eventLog, positionAt(1));
      await vi.waitFor(() => expect(following.keys).toEqual(['aa', 'bb']), soon);
      await publisher.publish('metros', [record('cc')]);
      await vi.waitFor(() => expect(following.keys).toEqual(['aa', 'bb', 'cc']), soon);
      await following.stop();
      const offsets = await (await kafka.admin()).fetchOffsets({
        groupId: group,
        topics: [`${kafka.topicPrefix}metros`],
      });
      expect(offsets[0]!.partitions).toMatchObject([{ partition: 0, offset: '3' }]);

      const sink = kafkaRejectSink(kafka.options);
      const raw = { key: Buffer.from('aa'), value: Buffer.from('x'), headers: {} };
      await sink.publish([{ topic: 'metros', partition: 0, offset: 0, timestampMs: 1, reason: 'not Avro', raw }]);
      await sink.close();
      await publisher.close();
      const admin = await kafka.admin();
      expect(await admin.fetchTopicOffsets(`${kafka.topicPrefix}rejected`)).toMatchObject([{ high: '1' }]);
    },
  );
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
  test.each(mechanisms)('a wrong password by %s, which nobody is shown', async (mechanism) => {
    const sasl = { mechanism, username: user.username, password: 'wheel-9' };
    const { reading, writing, all } = await refused(signedInBy(mechanism, { sasl }));
    for (const message of [reading, writing])
      expect(message).toMatch(
        /refuses the credentials; check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD$/,
      );
    expect(all).not.toMatch(/wheel-9|tyre/);
  });

  test.each<[string, () => KafkaConnection, RegExp]>([
    [
      'a port that wants TLS',
      () => ({ brokers: [broker.tlsBrokers], ssl: false, sasl: null }),
      /wants TLS there; set KAFKA_SSL=true/,
    ],
    [
      'a port that takes no credentials',
      () => signedInBy('plain', { brokers: [broker.tlsBrokers] }),
      /takes no credentials there; leave KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD out/,
    ],
  ])('%s', async (_, connection, words) => {
    const { reading, writing } = await refused(connection());
    expect(reading).toMatch(words);
    expect(writing).toMatch(words);
  });

  test('a certificate of an authority that nobody trusts', async () => {
    const trusted = tls.getCACertificates('default');
    tls.setDefaultCACertificates(authorities);
    const { reading, writing } = await refused(signedInBy('plain'));
    tls.setDefaultCACertificates(trusted);
    for (const message of [reading, writing])
      expect(message).toMatch(/certificate is not trusted .*NODE_EXTRA_CA_CERTS/);
  });

  test('a certificate for another name', async () => {
    const other = makeCertificate(['kafka.example']);
    const server = tls.createServer(other).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), other.cert]);
    const { reading } = await refused({ brokers: [`127.0.0.1:${port}`], ssl: true, sasl: null });
    expect(reading).toMatch(/certificate is for another name; in KAFKA_BROKERS.* use names that are in it/);
    server.close();
  });
});

test('a port that ends connections without a word is asked again, with what may be wrong', async () => {
  await using kafka = new TestKafka({ brokers: [broker.brokers], ssl: true, sasl: null });
  const eventLog = kafka.eventLog();
  const asked = eventLog.bounds().catch(() => null);
  await vi.waitFor(() => expect(kafka.log.lines.join()).toMatch(/check KAFKA_SSL, and KAFKA_SASL_MECHANISM/), soon);
  await eventLog.close();
  await asked;
});

describe('the command', () => {
  const env = (): Env => ({
    KAFKA_BROKERS: broker.brokers,
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    KAFKA_SSL: 'true',
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: user.username,
    KAFKA_SASL_PASSWORD: user.password,
    NODE_EXTRA_CA_CERTS: authorityFile,
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
  });

  test('makes topics and projects, with an authority of the operator’s own in NODE_EXTRA_CA_CERTS', async () => {
    const settings = env();
    expect(await processes.run(['topics', '--partitions', '1'], settings)).toMatchObject({ code: 0 });
    const projector = await processes.start('projector', settings);
    await projector.ready();
    expect(projector.err()).not.toMatch(/Warning|tyre/);
    expect((await projector.stop()).code).toBe(0);
  });
});
