import { join } from 'node:path';
import type { Admin } from 'kafkajs';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { said } from '../support/processes/ran.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshKeyPrefix } from '../support/servers/backends.ts';
import { TestKafka, topicBounds } from '../support/servers/kafka.ts';
import {
  type AclScope,
  type GrantedLine,
  grantedLines,
  grantInKafka,
  revokeInKafka,
} from '../support/servers/kafka-acls.ts';
import { redisRights, redisUserWith, refusedByRedis } from '../support/servers/redis-users.ts';
import { type SecuredKafka, startSecuredKafka } from '../support/servers/secured-kafka.ts';

// Every command with the rights of docs/permissions.md and no others, on a broker and a Redis that obey them.

const password = 'tyre=7;#pump';
const lines = grantedLines();
const users = [...new Set(lines.map(({ user }) => user))];
const open = testStack();
const processes = open.use(new Processes());
const keyPrefix = freshKeyPrefix();
let broker: SecuredKafka;
let redis: RedisServer;
let kafka: TestKafka;
let admin: Admin;
let scope: AclScope;
const redisUsers = ['projector', 'api', 'sign-in'] as const;
const urls: Record<string, string> = {};

beforeAll(async () => {
  broker = open.adopt(
    await startSecuredKafka({ users: users.map((username) => ({ username, password })), acls: true }),
    (each) => each.stop(),
  );
  // With persistence, as sign-in wants it: without, it asks for the configuration to say what a crash would lose.
  redis = open.adopt(await startRedisServer({ persistence: 'aof' }), (each) => each.stop());
  kafka = open.use(new TestKafka(broker.adminBrokers));
  admin = await kafka.admin();
  scope = { topicPrefix: kafka.topicPrefix, group: 'the-group' };
  await grantInKafka(admin, lines, scope);
  for (const user of redisUsers) urls[user] = await redisUserWith([redis.url], user, redisRights(user, keyPrefix));
});

const as = (user: string, more: Env = {}): Env => ({
  KAFKA_BROKERS: broker.brokers,
  KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
  KAFKA_GROUP: 'the-group',
  KAFKA_SASL_MECHANISM: 'plain',
  KAFKA_SASL_USERNAME: user,
  KAFKA_SASL_PASSWORD: password,
  REDIS_KEY_PREFIX: keyPrefix,
  ...more,
});

const granted = { code: 0, err: expect.not.stringMatching(/grant/) };
const simulated = ['simulate', '--metros', '1', '--riders', '20', '--rides', '3', '--days', '2', '--count', '5'];

// In the order in which an operator calls them: each needs what those before it made.
describe('with exactly its rights', () => {
  test('topics finds that topics are missing, makes them, and finds them as planned; simulate publishes', async () => {
    const check = () => said(['topics', '--partitions', '2', '--check'], as('topics'));
    expect(await check()).toMatchObject({ code: 1, out: expect.stringContaining('missing') });
    expect(await said(['topics', '--partitions', '2'], as('topics'))).toMatchObject({ code: 0 });
    expect(await check()).toMatchObject({ code: 0, out: expect.not.stringContaining('missing') });
    expect(await said(simulated, as('simulate'))).toMatchObject(granted);
  });

  test('projector and api project, set aside, commit and serve, and Redis refuses them nothing', async () => {
    await kafka.sendRaw('riders', [{ key: 'bad', value: Buffer.from('not Avro') }]);
    const projector = await processes.start('projector', as('projector', { REDIS_URL: urls.projector! }));
    const stores = { REDIS_URL: urls.api!, AUTH_REDIS_URL: urls['sign-in']!, REDIS_KEY_PREFIX: keyPrefix };
    const api = await processes.start('api', stores);
    await Promise.all([projector.ready(), api.ready()]);
    expect((await fetch(`${api.origin}/oauth/authorize?client_id=nobody`)).status).toBe(400);
    expect((await fetch(`${api.api}/metros/portland/days/2026-01-01`)).status).toBe(401);
    const setAside = () => admin.fetchTopicOffsets(`${kafka.topicPrefix}rejected`);
    await expect.poll(setAside).toMatchObject([{ high: '1' }]);
    const ended = [await projector.stop(), await api.stop()];
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    expect(ended.map(({ out, err }) => out + err).join()).not.toMatch(/grant|Cannot commit/);
    const committed = await admin.fetchOffsets({ groupId: 'the-group', topics: [`${kafka.topicPrefix}riders`] });
    expect(Number(committed[0]!.partitions[0]!.offset)).toBeGreaterThan(0);
    for (const user of redisUsers) expect([user, await refusedByRedis([redis.url], user)]).toEqual([user, []]);
  });

  test('a publisher sends in transactions, and reads what was set aside', async () => {
    const sasl = { mechanism: 'plain', username: 'publisher', password } as const;
    await using own = new TestKafka({ brokers: [broker.brokers], ssl: false, sasl }, kafka.topicPrefix);
    const transaction = await own.transaction();
    await transaction.send({ topic: `${kafka.topicPrefix}riders`, messages: [{ key: 'bad', value: null }] });
    await transaction.commit();
    expect(await said(['rejected', 'list'], as('publisher'))).toMatchObject({
      out: expect.stringContaining('riders/'),
    });
  });

  test('a publisher publishes records', async () => {
    const example = new URL('../../docs/example-records.jsonl', import.meta.url).pathname;
    for (const args of [[], ['--dry-run']])
      expect(await said(['records', 'publish', ...args, example], as('publisher'))).toMatchObject(granted);
  });

  test.each(['publisher', 'archive-save'])('records check, records print and why read as %s', async (user) => {
    const checked = await said(['records', 'check'], as(user));
    expect(checked).toMatchObject({ code: 1, out: expect.stringContaining('rejected_record'), err: granted.err });
    const printed = await said(['records', 'print', '--topic', 'rides', '--key', 'taco'], as(user));
    expect(printed).toMatchObject({ code: 0, out: expect.stringContaining('Taco Tuesday') });
    const why = await said(['why', 'rides/taco', 'riders/bad'], as(user));
    expect(why).toMatchObject({ out: expect.stringContaining('rides/taco'), err: granted.err });
  });

  test('archive save saves the log and what was set aside, and archive load loads it', async () => {
    const archive = join(await processes.folder(), 'archive');
    expect(await said(['archive', 'save', archive], as('archive-save'))).toMatchObject(granted);
    const KAFKA_TOPIC_PREFIX = `${kafka.topicPrefix}again.`;
    await grantInKafka(admin, lines, { topicPrefix: KAFKA_TOPIC_PREFIX, group: 'the-group' });
    expect((await said(['topics', '--partitions', '2'], as('topics', { KAFKA_TOPIC_PREFIX }))).code).toBe(0);
    expect(await said(['archive', 'load', archive], as('archive-load', { KAFKA_TOPIC_PREFIX }))).toMatchObject(granted);
    const [rejected] = await topicBounds(admin, `${KAFKA_TOPIC_PREFIX}rejected`);
    expect(rejected).toMatchObject({ high: '1' });
  });
});

describe('without a right a command names it', () => {
  /** Grants a user's rights but these, such as `Write rejected`; for topics with a prefix. */
  async function grantBut(user: string, lacking: readonly string[], topicPrefix = kafka.topicPrefix): Promise<void> {
    const without = ({ resource, operations, ...line }: GrantedLine): GrantedLine => ({
      ...line,
      resource,
      operations: operations.filter((one) => !lacking.includes(`${one} ${resource}`)),
    });
    await revokeInKafka(admin, user);
    await grantInKafka(admin, lines.filter((line) => line.user === user).map(without), { ...scope, topicPrefix });
  }
  // Kafka names a missing Read, Write or Create by the Describe that came with it.
  const named = (right: string) =>
    new RegExp(`lacks (${right.split(' ')[0]}|Describe) on (topic|group) .*; grant it with kafka-acls\\.sh`);

  test.each([
    ['topics', 'Create facts', ['topics', '--partitions', '2']],
    ['simulate', 'Write facts', simulated],
    ['archive-save', 'Read facts', ['archive', 'save']],
  ])('%s without %s', async (user, right, args) => {
    // Fresh topics for `topics` to make; else those of before.
    const KAFKA_TOPIC_PREFIX = user === 'topics' ? `${kafka.topicPrefix}new.` : kafka.topicPrefix;
    await grantBut(user, [right], KAFKA_TOPIC_PREFIX);
    const own = user === 'archive-save' ? [...args, join(await processes.folder(), 'saved')] : args;
    // The broker answers before it goes by the new rights.
    const refused = async () => {
      const { out, err } = await said(own, as(user, { KAFKA_TOPIC_PREFIX }));
      expect(out + err).toMatch(named(right));
    };
    await vi.waitFor(refused, { timeout: 60_000, interval: 300 });
  });

  test('projector, which goes on', async () => {
    const lacking = ['DescribeConfigs facts', 'Write rejected', 'Read group'];
    await grantBut('projector', lacking);
    await kafka.sendRaw('riders', [{ key: 'bad', value: Buffer.from('not Avro') }]);
    const running = await processes.start('projector', as('projector', { REDIS_URL: urls.projector! }));
    for (const right of lacking) await running.printed(named(right));
    await running.printed("Cannot read delete.retention.ms of the topics, taking Kafka's default of 86400000 ms: ");
    await running.kill();
  });
});
