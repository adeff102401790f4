import { X509Certificate } from 'node:crypto';
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

const soon = { timeout: 60_000, interval: 50 };

test.each<[string, () => KafkaConnection]>([
  ['over TLS at a host name, signed in by plain', () => signedInBy('plain', { brokers: [anyHost] })],
  [
    'without TLS, signed in by scram-sha-512',
    () => signedInBy('scram-sha-512', { brokers: [broker.saslBrokers], ssl: false }),
  ],
])('%s, topics are made, records published, followed and set aside', async (_, connection) => {
  await using kafka = new TestKafka(connection());
  const made = await ensureTopics({ ...kafka.options, partitions: 1 });
  expect(made.map((topic) => topic.state)).toEqual(Array(9).fill('created'));
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
  const trusted = () => tls.getCACertificates('default');
  test.each<[string, () => KafkaConnection, string, () => readonly string[]]>([
    ['a wrong password by plain', wrong('plain'), `refuses the credentials; check ${sasl}`, trusted],
    ['a wrong password by scram-sha-256', wrong('scram-sha-256'), `refuses the credentials; check ${sasl}`, trusted],
    [
      'a port that wants TLS',
      () => ({ brokers: [broker.tlsBrokers], ssl: false, sasl: null }),
      'wants TLS there; set KAFKA_SSL=true',
      trusted,
    ],
    [
      'a port that takes no credentials',
      () => signedInBy('plain', { brokers: [broker.tlsBrokers] }),
      `takes no credentials there; leave ${sasl} out`,
      trusted,
    ],
    [
      'a certificate of an authority that nobody trusts',
      () => signedInBy('plain'),
      'NODE_EXTRA_CA_CERTS',
      () => authorities,
    ],
  ])('%s, and no password is shown', async (_, connection, words, authoritiesThen) => {
    const before = trusted();
    tls.setDefaultCACertificates(authoritiesThen());
    const { reading, writing, all } = await refused(connection()).finally(() => tls.setDefaultCACertificates(before));
    for (const message of [reading, writing]) expect(message).toContain(words);
    expect(all).not.toMatch(/wheel-9|tyre/);
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
