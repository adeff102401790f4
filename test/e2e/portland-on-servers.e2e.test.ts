import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../services/command-line.ts';
import { latestRecords } from '../reference/facts.ts';
import {
  askAll,
  differences,
  type GotAnswer,
  type Question,
  questionsOf,
} from '../support/processes/calendar-answers.ts';
import { heard } from '../support/processes/heard.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { freshGroup, freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { readTopic, type TopicRecord } from '../support/servers/kafka-topic.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { copyPortland, portlandKeys, readPortland } from '../support/worlds/portland.ts';

// Portland by every way: the embedded default, Kafka and Redis, and archives of that Kafka. Each gives the same bytes, with
// the same ETags.

const now = '2015-06-13T19:00:00Z';
const processes = new Processes();
afterAll(() => processes.close());

let tokens: Awaited<ReturnType<typeof riderTokens>>;
let portland: string;
let questions: Question[];
/** What the embedded default answers. */
let embedded: Map<string, GotAnswer>;
let kafka: Env;
let redis: Env;

const startOn = async (command: string, env: Env): Promise<RunningService> =>
  (await processes.start(command, { NOW: now, ...tokens.env, ...env })).ready();

/** A tool's exit code, and the JSON that it prints. */
async function run(args: string[], env: Env = kafka): Promise<object> {
  const { code, out } = await heard((io) => runCli([...args, '--json'], io, { ...env, LOG_LEVEL: 'error' }));
  return { code, ...JSON.parse(out.at(-1)!) };
}

async function stop(...services: RunningService[]): Promise<void> {
  for (const service of services) {
    expect(await service.stop()).toMatchObject({ code: 0, signal: null });
  }
}

async function expectSameAnswers(service: RunningService): Promise<void> {
  const got = await askAll(service.api, questions);
  expect(differences(questions, got).slice(0, 5)).toEqual([]);
  expect(got).toEqual(embedded);
}

const freshTopics = (): Env => ({
  KAFKA_BROKERS: kafkaBrokers(),
  KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
  KAFKA_GROUP: freshGroup(),
  KAFKA_PARTITIONER: 'crc32',
});

beforeAll(async () => {
  tokens = await riderTokens(await processes.folder());
  kafka = freshTopics();
  redis = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
  const facts = latestRecords(await readPortland());
  const riders = await tokens.of('r0020', 'r0007', 'r0133');
  const deadKeys = [portlandKeys.deleted, 'nonsense'];
  questions = questionsOf(facts, Date.parse(now), { key: portlandKeys.live, deadKeys, tokens: riders });
  portland = await copyPortland(join(await processes.folder(), 'portland'));
  const service = await startOn('start', { ARCHIVE_DIR: portland });
  embedded = await askAll(service.api, questions);
  await stop(service);
});

describe('Portland in Kafka and Redis', () => {
  let projector: RunningService;
  let api: RunningService;

  it('is loaded by topics and archive load', async () => {
    expect(await run(['topics', '--partitions', '4'])).toMatchObject({ code: 0 });
    const records = (await readPortland()).length;
    expect(await run(['archive', 'load', portland])).toMatchObject({ code: 0, rejected: 0, records });
  });

  it('gives the same bytes as the embedded default', async () => {
    projector = await startOn('projector', { ...kafka, ...redis });
    api = await startOn('api', redis);
    await expectSameAnswers(api);
  });

  it('sets the four bad records aside once, as they came, with where they lay and why', async () => {
    const sent = await badRecords(kafka);
    const header = (record: TopicRecord, name: string): string => record.headers[`ride-calendar.${name}`]!;
    // What follows the kind says which field and rule.
    expect(sent.map((record) => header(record, 'reason').split(':')[0]).sort()).toEqual([
      'key disagrees with value',
      'key does not match its pattern',
      'rider related to themself',
      'time zone is not in the IANA database',
    ]);
    for (const record of sent) {
      const [partition, offset] = [Number(header(record, 'partition')), Number(header(record, 'offset'))];
      const topic = await readTopic(kafkaBrokers(), `${kafka.KAFKA_TOPIC_PREFIX}${header(record, 'topic')}`);
      const original = topic.find((one) => one.partition === partition && one.offset === offset)!;
      expect({ key: record.key, value: record.value }).toEqual({ key: original.key, value: original.value });
    }
  });

  it('is read with the projector down', async () => {
    await stop(projector);
    await expectSameAnswers(api);
    await stop(api);
  });
});

describe('an archive of that Kafka', () => {
  let saved: string;

  it('serves the same bytes', async () => {
    saved = join(await processes.folder(), 'saved');
    const records = (await readPortland()).length;
    expect(await run(['archive', 'save', saved])).toMatchObject({ code: 0, records, rejected: 4 });
    const { KAFKA_TOPIC_PREFIX } = kafka as { KAFKA_TOPIC_PREFIX: string };
    const service = await startOn('start', { ARCHIVE_DIR: saved, KAFKA_TOPIC_PREFIX });
    await expectSameAnswers(service);
    // The bad records came with it, and are not set aside again.
    expect(await readdir(join(saved, `${KAFKA_TOPIC_PREFIX}rejected`))).toHaveLength(1);
    await stop(service);
  });
});

const badRecords = ({ KAFKA_TOPIC_PREFIX }: Env) => readTopic(kafkaBrokers(), `${KAFKA_TOPIC_PREFIX}rejected`);
