import { Producer } from '@platformatic/kafka';
import { expect, it } from 'vitest';
import { kafkaRejectSink } from '../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import type { Rider, TopicName } from '../../../schemas/events/records.ts';
import { ran } from '../../support/processes/ran.ts';
import { freshRedis, freshTopicPrefix, redisUrl } from '../../support/servers/backends.ts';
import { TestKafka } from '../../support/servers/kafka.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { readArchive, TestArchive } from '../../support/worlds/archive.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

interface Case {
  topic?: TopicName;
  key?: Buffer | null;
  value?: Buffer | null;
  timestamp?: bigint;
  headers?: (readonly [name: string | Buffer, value: Buffer | null])[];
  /** Why it is bad. */
  bad?: string;
}

const bytes = (text: string) => Buffer.from(text);
const rider = (id: string, more: Partial<Rider> = {}): Case => ({
  key: bytes(id),
  value: encodeValue('riders', { ...sampleRecords.riders, rider: id, ...more }),
});
const notAvro = (id: string): Case => ({ key: bytes(id), value: bytes('bad'), bad: 'not Avro' });
const noise = Buffer.alloc(900_000, 1);
const least = -(2n ** 63n);
const most = 2n ** 63n - 1n;
const numbers = [least, -1n, 0n, 2n ** 53n, 1_700_000_000_000_000_000n, most];
/** Of our own kind, as far as their names go. */
const posing = ['topic', 'partition', 'offset', 'timestamp', 'reason', 'last-offset'].map(
  (name) => [`ride-calendar.${name}`, bytes('__proto__')] as const,
);
const sample = (topic: TopicName, key: string, timestamp: bigint, more = {}): Case => ({
  ...{ topic, key: bytes(key), timestamp },
  value: encodeValue(topic, { ...sampleRecords[topic], ...more } as never),
});
const night = (day: number, text: string) => sample('nights', `ride0001/${text}`, least, { day });

/** Each field of a record, with its smallest, largest, negative and missing values. */
const cases: Record<string, Case[]> = {
  timestamps: numbers.flatMap((timestamp, i) => [
    { ...rider(`t${i}`), timestamp },
    { ...notAvro(`t${i}`), timestamp },
    { key: bytes(`gone${i}`), value: null, timestamp },
    { ...rider(`t${i}`, { name: 'Good again' }) },
  ]),
  'upstream’s own numbers': numbers.map((n, i) => rider(`n${i}`, { revision: n, changed_at: n })),
  keys: [
    { ...notAvro(''), key: null, bad: 'no key' },
    { ...rider('r1'), key: bytes(''), bad: 'key does not match its pattern' },
    { ...rider('r1'), key: Buffer.of(0xff), bad: 'key is not UTF-8' },
    { ...notAvro(''), key: noise },
    { ...notAvro('../../x\u001b]0;x\u0007') },
    rider('__proto__'),
    rider('constructor'),
  ],
  values: [
    { key: bytes('gone'), value: null },
    { ...notAvro('empty'), value: Buffer.alloc(0) },
    { ...notAvro('large'), value: noise },
    rider('long', { name: 'x'.repeat(900_000) }),
  ],
  headers: (
    [
      [['', null]],
      [[Buffer.of(0xff), Buffer.of(0xff)]],
      ['__proto__', 'constructor', '7'].map((name) => [name, bytes('')] as const),
      ['twice', 'between', 'twice'].map((name) => [name, null] as const),
      posing,
      [['large', noise]],
      Array.from({ length: 1_000 }, (_, i) => [`h${i}`, null] as const),
    ] satisfies NonNullable<Case['headers']>[]
  ).flatMap((headers, i): Case[] => [
    { ...rider(`h${i}`), headers },
    { ...notAvro(`h${i}`), headers },
  ]),
  'too many headers': [{ ...rider('many'), headers: Array(1_001).fill(['', null]), bad: 'unreadable batch' }],
  calendar: [
    sample('metros', 'portland', least),
    sample('rides', 'ride0001', most),
    night(-719_162, '0001-01-01'),
    night(16_599, '2015-06-13'),
    night(2_932_896, '9999-12-31'),
    { ...rider('r0001'), timestamp: most },
    sample('attendance', 'ride0001/2015-06-13/r0001', -1n),
  ],
};

// docs/rules.md#timestamps, #rejected, #rejected-once
it('nothing that a record holds stops a command that copies or reads the log', { timeout: 400_000 }, async () => {
  await using kafka = new TestKafka();
  await using archive = await TestArchive.make();
  const env = { ...kafka.env, ...freshRedis(), LOG_LEVEL: 'error' };
  const run = (command: string, more = {}) => ran(command, { ...env, ...more });
  const fine = async (command: string, wanted: number | number[] = 0, more = {}) => {
    const { code, out, err } = await run(command, more);
    expect([wanted].flat(), `${command}: ${err.join('\n')}`).toContain(code);
    return out;
  };
  // As an operator may have them: without a limit, and with retention, which takes records without a key.
  const settings = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'max.message.bytes': '2000000' };
  await kafka.createTopics({ settings: { ...settings, 'message.timestamp.after.max.ms': String(most) } });
  const all = Object.values(cases).flat();
  const producer = new Producer({ clientId: 'any', bootstrapBrokers: kafka.connection.brokers, idempotent: true });
  for (const { topic = 'riders', key, value, timestamp = 1_700_000_000_000n, headers = [] } of all) {
    const named = new Map(headers.map(([name, content]) => [Buffer.from(name), content]));
    const message = { topic: kafka.topicPrefix + topic, partition: 0, key, value, timestamp, headers: named };
    await producer.send({ messages: [message as never], acks: -1 });
  }
  await producer.close();
  const good = all.filter(({ topic = 'riders', bad }) => topic === 'riders' && bad === undefined);
  const bad = all.filter((one) => one.bad !== undefined);

  // Two starts of a projector set each bad record aside once.
  for (const isSecond of [false, true]) {
    const writer = await redisViewWriter({ url: redisUrl(), cluster: false, keyPrefix: env.REDIS_KEY_PREFIX });
    const sink = kafkaRejectSink(kafka.options);
    const running = startProjector(kafka.eventLog(), writer, sink);
    await running.ready();
    if (isSecond) await fine('verify');
    await running.stop();
    await Promise.all([sink.close(), writer.close()]);
  }
  const listed = (await fine('rejected list --json', [0, 1])).map((line) => JSON.parse(line));
  const timesOf = (list: Case[]) => list.map(({ timestamp = 1_700_000_000_000n }) => timestamp);
  const shown = timesOf(bad).map((ms) =>
    ms >= 0n && ms < 2n ** 47n ? new Date(Number(ms)).toISOString() : String(ms),
  );
  expect(listed.map(({ timestamp, reason }) => [timestamp, reason.split(':')[0]])).toEqual(
    bad.map((one, i) => [one.timestamp === -1n ? '1969-12-31T23:59:59.999Z' : shown[i], one.bad]),
  );
  await fine('rejected list --show --personal', [0, 1]);
  await fine('rejected resubmit --all', 1);

  const saved = `${archive.dir}/saved`;
  await fine(`archive save ${saved}`);
  await fine(`archive save ${saved}`);
  await fine(`archive check ${saved}`);
  const { records } = await readArchive(saved, { prefix: kafka.topicPrefix });
  const kept = records.filter((one) => one.topic === 'riders' && 'key' in one && one.key !== '');
  expect(kept.map(({ timestampMs }) => BigInt(timestampMs))).toEqual(timesOf(good));
  const headers = kept.flatMap(({ headers }) => headers ?? []);
  expect(headers.length).toBe(good.flatMap((one) => one.headers ?? []).length);
  await fine(`archive forget t0 ${saved}`);
  await fine(`archive check ${saved}`);

  const target = { KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
  await fine('topics --partitions 1', 0, target);
  await fine(`archive load ${saved}`, 0, target);
  await fine(`archive load ${saved} --append`, 0, target);
  const loaded = (await fine('rejected list --json', [0, 1], target)).map((line) => JSON.parse(line));
  // All but what forget removed; what came in the topic itself may be there or not.
  const placesOf = (list: typeof loaded) =>
    list
      .filter(({ offset, reason }) => offset !== 1 && !/batch|pattern/.test(reason))
      .map((one) => [one.offset, one.timestamp]);
  expect(placesOf(loaded)).toEqual(placesOf(listed));

  // Of Kafka they are told from a copy, which is an archive. It was made this moment: what Kafka had before is not known.
  const { code, err } = await run('replay --as-of 2026-01-01T00:00:00Z --get /metros/portland/days/2015-06-13');
  expect([code, err.join()]).toEqual([0, expect.stringContaining('Kafka is compacted and holds the present')]);
  expect(err.join()).not.toContain('The archive has every record since');
  const asOf = `replay --as-of 2026-01-01T00:00:00Z --archive ${saved}`;
  for (const by of ['timestamp', 'changed_at']) await fine(`${asOf} --by ${by} --get /metros/portland/days/2015-06-13`);
  await fine(`replay --as-of 9999-12-31T23:59:59.999Z --get /rides/ride0001 --archive ${saved}`);
  await fine(`history /me/nights --rider r0001 --to 9999-12-31T23:59:59.999Z --archive ${saved}`);
  await fine(`changes --from 0001-01-01T00:00:00Z --to 9999-12-31T23:59:59.999Z --json --archive ${saved}`, 1);
  await fine(`export ${archive.dir}/tables --personal --archive ${saved}`);
});
