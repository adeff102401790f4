import { expect, it } from 'vitest';
import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { ran } from '../../support/processes/ran.ts';
import { freshTopicPrefix, kafkaBrokers } from '../../support/servers/backends.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const timestampMs = 1_700_000_000_000;

// docs/rules.md#resubmitted-records
it('rejected lists bad records of Kafka, and resubmits what is good by now to its own partition, once', async () => {
  const env = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix(), LOG_LEVEL: 'silent' };
  const run = (...args: string[]) => ran(args, env);
  expect((await run('topics', '--partitions', '2')).code).toBe(0);
  const kafka = loadSettings(env).kafka!;
  const { signal } = new AbortController();
  const publisher = kafkaPublisher({ kafka, topicPrefix: env.KAFKA_TOPIC_PREFIX, log: silentLog, signal });
  for (const [offset, key] of ['ada', 'bo'].entries()) {
    const bad = Buffer.from('bad');
    await publisher.publish('riders', [{ partition: 1, key, value: bad, timestampMs }]);
    const good = encodeValue('riders', { ...sampleRecords.riders, rider: key });
    const raw = { key: Buffer.from(key), value: key === 'ada' ? good : bad, headers: { trace: Buffer.from('t') } };
    const reason = 'unknown schema fingerprint';
    await publisher.rejects.publish([{ topic: 'riders', partition: 1, offset, timestampMs, reason, raw }]);
  }
  const listed = await run('rejected', 'list', '--json', '--show');
  const one = { topic: 'riders', partition: 1, key: '(hidden)', unresolved: true, copied: true };
  expect(listed.out.map((line) => JSON.parse(line))).toMatchObject([
    { ...one, offset: 0, reason_now: null },
    { ...one, offset: 1, reason_now: expect.stringMatching(/^not Avro: /) },
  ]);
  const usage = ['Cannot run rejected resubmit: want one of --all, --reason TEXT and --place PLACE'];
  expect(await run('rejected', 'resubmit')).toMatchObject({ code: 2, err: usage });
  const resubmitted = async (...args: string[]) => {
    const { code, out } = await run('rejected', 'resubmit', '--json', ...args);
    return { code, out: out.map((line) => JSON.parse(line)) };
  };
  const ada = { place: 'riders/1@0', now: 'riders/1@2', note: null };
  const bo = { place: 'riders/1@1', now: null, note: expect.stringMatching(/^it still breaks a rule: not Avro: /) };
  expect(await resubmitted('--all')).toEqual({ code: 1, out: [ada, bo] });
  const later = { ...ada, now: null, note: 'its key has had a later record' };
  expect(await resubmitted('--place', 'riders/1@0')).toEqual({ code: 0, out: [later] });
  // Of a log without a projector nobody sets this one aside.
  await publisher.publish('riders', [{ partition: 0, key: 'cy', value: Buffer.from('bad'), timestampMs }]);
  const { code, out } = await run('rejected', 'list');
  expect([code, ...out.slice(-2)]).toEqual([
    1,
    expect.stringMatching(/^3 rejected records in Kafka .*, 2 unresolved/),
    expect.stringMatching(/^1 of them are in the log and not in the topic of rejected records/),
  ]);
  expect(out.filter((line) => line.includes('riders/')).map((line) => line.trim().split(/ +/).slice(0, 2))).toEqual([
    ['unresolved', 'riders/0@0'],
    ['resolved', 'riders/1@0'],
    ['unresolved', 'riders/1@1'],
  ]);
  expect((await run('rejected', 'list', '--place', 'riders/1@0')).code).toBe(0);
  await publisher.close();
});
