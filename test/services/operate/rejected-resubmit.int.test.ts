import { describe, expect, it } from 'vitest';
import { kafkaPublisher } from '../../../infra/kafka/publishing/kafka-publisher.ts';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { runCli } from '../../../services/command-line.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { freshTopicPrefix, kafkaBrokers } from '../../support/servers/backends.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const silent = { info() {}, warn() {}, error() {} };

/** Topics of two partitions with some bad records. */
async function setUp(rejects: readonly Reject[]) {
  const env = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix(), LOG_LEVEL: 'silent' };
  const run = (...args: string[]) => heard((io) => runCli(args, io, env));
  expect((await run('topics', '--partitions', '2')).code).toBe(0);
  const kafka = loadSettings(env).kafka!;
  const { signal } = new AbortController();
  const publisher = kafkaPublisher({ kafka, topicPrefix: env.KAFKA_TOPIC_PREFIX, log: silent, signal });
  await publisher.rejects.publish([...rejects]);
  return { run, publisher, topicPrefix: env.KAFKA_TOPIC_PREFIX, kafka };
}

const timestampMs = 1_700_000_000_000;
const rider = (id: string) => encodeValue('riders', { ...sampleRecords.riders, rider: id });
const reject = (id: string, offset: number, value: Buffer | null = rider(id)): Reject => ({
  topic: 'riders',
  partition: 1,
  offset,
  timestampMs,
  reason: 'unknown schema fingerprint',
  raw: { key: Buffer.from(id), value, headers: { trace: Buffer.from('t') } },
});

const outcomes = (lines: readonly string[]) => lines.map((line) => JSON.parse(line));

// docs/rules.md#resubmitted-records
describe('rejected resubmit', () => {
  it('publishes what is good by now to its own partition, once', async () => {
    const { run, publisher } = await setUp([reject('ada', 0)]);
    await publisher.publish('riders', [{ partition: 1, key: 'ada', value: Buffer.from('bad'), timestampMs }]);
    const first = await run('rejected', 'resubmit', '--all', '--json');
    expect({ code: first.code, out: outcomes(first.out) }).toEqual({
      code: 0,
      out: [{ place: 'riders/1@0', now: 'riders/1@1', note: null }],
    });
    const second = await run('rejected', 'resubmit', '--all', '--json');
    expect({ code: second.code, out: outcomes(second.out) }).toEqual({
      code: 0,
      out: [{ place: 'riders/1@0', now: null, note: 'its key has had a later record' }],
    });
    await publisher.close();
  });

  it('leaves out what is still bad, what has a later record, and what was not asked for', async () => {
    const rejects = [reject('ada', 0, Buffer.from('nothing')), reject('bo', 1), reject('cy', 2), reject('bo', 3)];
    const { run, publisher } = await setUp(rejects);
    const record = (key: string) => ({ partition: 1, key, value: rider(key), timestampMs });
    for (const key of ['ada', 'bo', 'cy', 'bo', 'cy']) await publisher.publish('riders', [record(key)]);
    const { code, out } = await run(
      'rejected',
      'resubmit',
      '--json',
      '--place',
      'riders/1@0',
      'riders/1@1',
      'riders/1@2',
    );
    expect({ code, out: outcomes(out) }).toEqual({
      code: 1,
      out: [
        { place: 'riders/1@0', now: null, note: 'it is still bad: not Avro' },
        { place: 'riders/1@1', now: null, note: 'its key has had a later record' },
        { place: 'riders/1@2', now: null, note: 'its key has had a later record' },
      ],
    });
    const left = await run('rejected', 'resubmit', '--json', '--place', 'riders/1@3');
    expect(outcomes(left.out)).toEqual([{ place: 'riders/1@3', now: 'riders/1@5', note: null }]);
    await publisher.close();
  });

  it('wants to know which, and lists them from Kafka', async () => {
    const { run, publisher } = await setUp([reject('ada', 0)]);
    const { code, err } = await run('rejected', 'resubmit');
    expect({ code, err }).toEqual({
      code: 2,
      err: ['Cannot run rejected resubmit: want one of --all, --reason TEXT and --place PLACE'],
    });
    const listed = await run('rejected', 'list', '--json', '--show');
    expect(JSON.parse(listed.out[0]!)).toMatchObject({
      topic: 'riders',
      partition: 1,
      offset: 0,
      key: '(hidden)',
      bad_now: null,
    });
    await publisher.close();
  });
});

describe('the commands for the past', () => {
  it('read what Kafka holds, without a consumer group', async () => {
    const { run, publisher } = await setUp([]);
    const value = encodeValue('metros', { ...sampleRecords.metros, metro: 'portland' });
    await publisher.publish('metros', [{ partition: 0, key: 'portland', value, timestampMs: 1_700_000_000_000 }]);
    const args = ['replay', '--as-of', '2026-01-01T00:00:00Z', '--get', '/metros/portland/days/2015-06-13'];
    const { code, out, err } = await run(...args);
    expect({ code, out }).toEqual({ code: 0, out: ['{"metro":"portland","day":"2015-06-13","nights":[]}'] });
    expect(err.join('\n')).toContain('Kafka is compacted and holds the present');
    // The copy of it was made this moment; what Kafka had before is not known.
    expect(err.join('\n')).not.toContain('The archive has every record since');
    const said = await run('replay', '--as-of', '2026-01-01T00:00:00Z', '--json');
    expect(JSON.parse(said.out[0]!)).toMatchObject({ records: 1, exact_since: null });
    await publisher.close();
  });
});
