import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { KafkaConnection } from '../../../../infra/kafka/client/kafka-connection.ts';
import { kafkaPublisher } from '../../../../infra/kafka/publishing/kafka-publisher.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { certificateEndsMs } from '../../../../infra/net/certificate-ends.ts';
import { freshGroup } from '../../../support/servers/backends.ts';
import { makeCertificate } from '../../../support/servers/certificate.ts';
import { metroValue, positionAt, TestKafka } from '../../../support/servers/kafka.ts';
import { type SecuredKafka, startSecuredKafka } from '../../../support/servers/secured-kafka.ts';
import { rejectAt } from '../../../support/worlds/records.ts';

// A broker of its own that wants TLS and, at one of its ports, credentials: no other of the run does.

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

const soon = { timeout: 20_000, interval: 50 };

test.each<[string, () => KafkaConnection]>([
  ['over TLS at a host name, signed in by plain', () => signedInBy('plain', { brokers: [anyHost] })],
  ['over TLS, signed in by scram-sha-512', () => signedInBy('scram-sha-512')],
  [
    'signed in by scram-sha-256 alone',
    () => signedInBy('scram-sha-256', { brokers: [broker.saslBrokers], ssl: false }),
  ],
])('%s, topics are made, records published, followed and set aside', async (_, connection) => {
  await using kafka = new TestKafka(connection());
  for (const state of ['created', 'as planned'])
    expect((await ensureTopics({ ...kafka.options, partitions: 1 })).map((topic) => topic.state)).toEqual(
      Array(9).fill(state),
    );
  const publisher = kafkaPublisher(kafka.options);
  const publish = (key: string) =>
    publisher.publish('metros', [{ key, value: metroValue(key), timestampMs: 1_700_000_000_000 }]);
  await publish('aa');
  const group = freshGroup();
  const eventLog = kafka.eventLog({ group });
  expect((await eventLog.bounds()).metros).toEqual([{ low: 0, end: 1 }]);
  const following = kafka.follow(eventLog, positionAt(1));
  await publish('bb');
  await vi.waitFor(() => expect(following.keys).toEqual(['aa', 'bb']), soon);
  await following.stop();
  const admin = await kafka.admin();
  const [committed] = await admin.fetchOffsets({ groupId: group, topics: [`${kafka.topicPrefix}metros`] });
  expect(committed!.partitions).toMatchObject([{ partition: 0, offset: '2' }]);
  await publisher.rejects.publish([rejectAt(1)]);
  await publisher.close();
  expect(await admin.fetchTopicOffsets(`${kafka.topicPrefix}rejected`)).toMatchObject([{ high: '1' }]);
});

test('both clients note when the broker’s certificate ends', () => {
  // At each handshake: whoever spoke to it last, by name and by address.
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

/** Trusts only these authorities while it runs. */
async function trusting<T>(trusted: readonly string[], does: () => Promise<T>): Promise<T> {
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates(trusted);
  return does().finally(() => tls.setDefaultCACertificates(before));
}

describe('what Kafka refuses for good ends the attempt with what to do', () => {
  const sasl = 'KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD';
  const wrong = (mechanism: Mechanism) => () =>
    signedInBy(mechanism, { sasl: { mechanism, username: user.username, password: 'wheel-9' } });
  const withoutTls = () => ({ brokers: [broker.tlsBrokers], ssl: false, sasl: null });
  const withCredentials = () => signedInBy('plain', { brokers: [broker.tlsBrokers] });
  test.each<[string, () => KafkaConnection, string]>([
    ['a wrong password by plain', wrong('plain'), `refuses the credentials; check ${sasl}`],
    ['a wrong password by scram-sha-512', wrong('scram-sha-512'), `refuses the credentials; check ${sasl}`],
    ['a port that wants TLS', withoutTls, 'wants TLS there; set KAFKA_SSL=true'],
    ['a port that takes no credentials', withCredentials, `takes no credentials there; leave ${sasl} out`],
  ])('%s, and no password is shown', async (_, connection, words) => {
    const { reading, writing, all } = await refused(connection());
    for (const message of [reading, writing]) expect(message).toContain(words);
    expect(all).not.toMatch(/wheel-9|tyre/);
  });

  test('a certificate of an authority that nobody trusts', async () => {
    const { reading, writing } = await trusting(authorities, () => refused(signedInBy('plain')));
    for (const message of [reading, writing])
      expect(message).toMatch(/certificate is not trusted .*NODE_EXTRA_CA_CERTS/);
  });

  test('a certificate for another name', async () => {
    const other = makeCertificate(['kafka.example']);
    const server = tls.createServer(other).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const brokers = [`127.0.0.1:${(server.address() as { port: number }).port}`];
    const { reading } = await trusting([other.cert], () => refused({ brokers, ssl: true, sasl: null }));
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
