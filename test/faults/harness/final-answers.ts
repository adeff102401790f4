import type { Env, Processes } from '../../support/processes/process.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';
import type { HistoryWriter } from '../history.ts';
import { type Asker, askedPaths, reader } from './probes.ts';
import type { Service } from './service.ts';

/** Writes down what each API answers, and what a replay of the log as it is now answers. */
export async function writeFinalAnswers(
  apis: readonly Service[],
  history: HistoryWriter,
  processes: Processes,
  { NOW, ...kafkaEnv }: Env,
  headersOf: (as: Asker) => Record<string, string>,
): Promise<void> {
  const command = ['replay', '--as-of', '2100-01-01T00:00:00Z', '--now', NOW!, '--serve', '--json', '--rider', reader];
  const replay = await processes.start(command, kafkaEnv);
  // Its log may say something first.
  await replay.printed(/"token":"[^"]+".*\n/);
  const { token } = JSON.parse(replay.out()) as { token: string };
  for (const { path, as } of askedPaths) {
    const headers = as === 'rider' ? { Authorization: `Bearer ${token}` } : headersOf(as);
    const response = await fetch(replay.api + path, { headers });
    const replayed = `${response.status} ${await response.text()}`;
    for (const api of apis) {
      const { status, body } = await api.get(`/api${path}`, headersOf(as), 30_000);
      history.add('final', { process: api.current(), path, answered: `${status} ${body}`, replay: replayed });
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
