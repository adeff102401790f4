import type { Processes } from '../../support/processes/process.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';
import type { Arena } from '../nemesis/fault.ts';
import { type Asker, askedPaths, keys, reader } from './probes.ts';

const days = ['2015-06-12', '2015-06-13', '2015-06-14', '2015-06-15'];

/** What is asked in the end: what readers asked for, and days and rides that no fault should have touched. */
const finalPaths: readonly { path: string; as: Asker }[] = [
  ...askedPaths,
  ...days.map((day) => ({ path: `/metros/portland/days/${day}`, as: 'main key' as const })),
];

/** Writes down what each API answers, and what a replay of the log as it is now answers. */
export async function writeFinalAnswers(
  { apis, history, kafkaEnv, processes }: Arena,
  now: string,
  headersOf: (asked: { as: Asker }) => Record<string, string>,
): Promise<void> {
  const replay = await startReplay(processes, kafkaEnv, now);
  for (const { path, as } of finalPaths) {
    const ask = async (url: string, headers: Record<string, string>) => {
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
      return { status: response.status, body: await response.text() };
    };
    const replayed = await ask(
      replay.api + path,
      as === 'rider' ? { Authorization: `Bearer ${replay.token}` } : headersOf({ as }),
    );
    for (const api of apis) {
      const answered = await ask(`${api.origin}/api${path}`, headersOf({ as }));
      history.add({ type: 'final', process: api.process, path, answered, replay: replayed });
    }
  }
  await replay.stop();
}

async function startReplay(processes: Processes, env: Record<string, string>, now: string) {
  const asOf = ['--as-of', '2100-01-01T00:00:00Z', '--now', now];
  const command = ['replay', ...asOf, '--serve', '--json', '--rider', reader];
  const service = await processes.start(command, env);
  await service.printed('\n');
  const { token } = JSON.parse(service.out()) as { token: string };
  return { api: service.api, token, stop: () => service.stop() };
}

interface Place {
  topic: string;
  partition: number;
  offset: number;
  key: string;
}

/** The places of the bad records in the topic `rejected`, in its order: each should stand there once. */
export async function rejectedPlaces({ broker, kafkaEnv }: Arena): Promise<Place[]> {
  const records = await readTopic(broker.brokers, `${kafkaEnv.KAFKA_TOPIC_PREFIX}rejected`);
  return records.map(({ key, headers }) => ({
    topic: headers['ride-calendar.topic']!,
    partition: Number(headers['ride-calendar.partition']),
    offset: Number(headers['ride-calendar.offset']),
    key: String(key ?? ''),
  }));
}

export const keyHeaders = (as: Exclude<Asker, 'rider'>): Record<string, string> => ({ 'X-Api-Key': keys[as] });
