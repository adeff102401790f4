import type { Env, Processes } from '../../support/processes/process.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';
import type { HistoryWriter } from '../history.ts';
import { type Asker, askedPaths, reader } from './probes.ts';
import type { Service } from './service.ts';

const days = ['2015-06-12', '2015-06-13', '2015-06-14', '2015-06-15'];

/** What is asked in the end: what readers asked for, and days and rides that no fault should have touched. */
const finalPaths: readonly { path: string; as: Asker }[] = [
  ...askedPaths,
  ...days.map((day) => ({ path: `/metros/portland/days/${day}`, as: 'main key' as const })),
];

/** Writes down what each API answers, and what a replay of the log as it is now answers. */
export async function writeFinalAnswers(
  {
    apis,
    history,
    kafkaEnv,
    processes,
  }: { apis: readonly Service[]; history: HistoryWriter; kafkaEnv: Env; processes: Processes },
  now: string,
  headersOf: (asked: { as: Asker }) => Record<string, string>,
): Promise<void> {
  const command = ['replay', '--as-of', '2100-01-01T00:00:00Z', '--now', now, '--serve', '--json', '--rider', reader];
  const replay = await processes.start(command, kafkaEnv);
  // Its log may say something first.
  await replay.printed(/"token":"[^"]+".*\n/);
  const { token } = JSON.parse(replay.out()) as { token: string };
  for (const { path, as } of finalPaths) {
    const headers = as === 'rider' ? { Authorization: `Bearer ${token}` } : headersOf({ as });
    const response = await fetch(replay.api + path, { headers });
    const replayed = { status: response.status, body: await response.text() };
    for (const api of apis) {
      const { status, body } = await api.get(`/api${path}`, headersOf({ as }), 30_000);
      history.add({ type: 'final', process: api.process, path, answered: { status, body }, replay: replayed });
    }
  }
  await replay.stop();
}

/** The places of the bad records in the topic `rejected`, in its order: each should stand there once. */
export async function rejectedPlaces({ KAFKA_BROKERS, KAFKA_TOPIC_PREFIX }: Env) {
  const records = await readTopic(KAFKA_BROKERS!, `${KAFKA_TOPIC_PREFIX}rejected`);
  return records.map(({ headers }) => ({
    topic: headers['ride-calendar.topic']!,
    partition: Number(headers['ride-calendar.partition']),
    offset: Number(headers['ride-calendar.offset']),
  }));
}
