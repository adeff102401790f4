import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../../infra/local/free-port.ts';
import { startKafkaBroker } from '../../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../../infra/local/redis-server.ts';
import { Processes } from '../../support/processes/process.ts';
import { stallingProxy } from '../../support/servers/stalling-proxy.ts';
import { riderTokens } from '../../support/sign-in/rider-tokens.ts';
import { PortlandInKafka } from '../../support/worlds/portland-in-kafka.ts';
import { HistoryWriter, nowMs } from '../history.ts';
import { rejectedPlaces, writeFinalAnswers } from './final-answers.ts';
import { type Done, doFaults } from './nemesis.ts';
import { type Asker, keyHeaders, reader } from './probes.ts';
import { Publisher } from './publisher.ts';
import { readersOf, startReaders } from './readers.ts';
import { Service } from './service.ts';

/** The calendar's clock: Portland's archive is of that week. */
const now = '2015-06-13T19:00:00Z';
/** Three quarters of 512 MiB, as the image has it in a container of that size. */
const projectorMemory = '--max-old-space-size=384';
const wellWithinMs = 60_000;
/** A token lives for an hour. */
const tokenEveryMs = 20 * 60_000;
/** After all is well: bad records are set aside by then, and what a process says of itself is well, too. */
const settleMs = 5_000;

export interface RunOptions {
  seed: number;
  /** How long faults come; null: until each has come once. */
  minutes: number | null;
  /** The names of the faults to choose from. */
  faults: readonly string[];
  /** Whether the machine has nothing else to do, so that the strict limits hold. */
  isQuiet: boolean;
  /** Where the history goes; a new temporary folder if absent. */
  out: string | null;
}

/** Runs the service on servers of its own, does faults to it, and writes down what it does. */
export async function runFaults(options: RunOptions): Promise<Done & { history: string }> {
  const folder = options.out ?? (await mkdtemp(join(tmpdir(), 'ride-calendar-faults-')));
  await mkdir(folder, { recursive: true });
  const readerNames = readersOf(['api-1', 'api-2']);
  const history = new HistoryWriter(join(folder, 'history.jsonl'), { seed: options.seed, readers: readerNames });
  await using servers = new AsyncDisposableStack();
  const processes = servers.adopt(new Processes(), (each) => each.close());
  const redis = servers.adopt(await startRedisServer(), (each) => each.stop());
  const proxy = servers.adopt(await stallingProxy(redis.url), (each) => each.close());
  const authRedis = servers.adopt(await startRedisServer({ persistence: 'aof' }), (each) => each.stop());
  const broker = servers.adopt(await startKafkaBroker(), (each) => each.stop());
  const portland = await PortlandInKafka.load(broker.brokers);
  await portland.close();
  const kafkaEnv = portland.env;
  const tokens = await riderTokens(await processes.folder());

  const REDIS_URL = proxy.url;
  const envs = {
    projector: { REDIS_URL, ...kafkaEnv, NODE_OPTIONS: projectorMemory },
    api: { REDIS_URL, AUTH_REDIS_URL: authRedis.url, NOW: now, ...tokens.env },
  };
  const ports = (await freePorts(4)).map(String);
  const make = (kind: keyof typeof envs) => (i: number) =>
    new Service(`${kind}-${i}`, { ...envs[kind], PORT: ports.pop()! }, processes, history);
  const projectors = [1, 2].map(make('projector'));
  const apis = [1, 2].map(make('api'));
  const services = [...projectors, ...apis];
  servers.defer(() => {
    for (const service of services) service.close();
  });

  let token = '';
  const headersOf = ({ as }: { as: Asker }): Record<string, string> =>
    as === 'rider' ? { Authorization: `Bearer ${token}` } : keyHeaders(as);
  const renewToken = async () => {
    token = (await tokens.of(reader)).get(reader)!;
  };
  await renewToken();
  const renewing = setInterval(renewToken, tokenEveryMs);
  servers.defer(() => clearInterval(renewing));

  const topicPrefix = kafkaEnv.KAFKA_TOPIC_PREFIX!;
  const publisher = new Publisher(broker.brokers, topicPrefix, history);
  await publisher.begin();
  await projectors[0]!.start();
  await projectors[0]!.ready();
  for (const service of services.slice(1)) await service.start();
  for (const service of services) await service.ready();
  for (const place of await rejectedPlaces(kafkaEnv))
    history.add({ type: 'publish', sent: nowMs(), as: 'bad', ...place, version: null });
  const readers = startReaders(apis, headersOf, history);
  publisher.start();

  /** Until each API shows what was published before, and all are ready; a limit is no judgement: that is the checker's. */
  const isWell = async (): Promise<void> => {
    const published = [...publisher.published.values()].filter(({ probe }) => probe !== 'comes');
    for (const end = nowMs() + wellWithinMs; nowMs() < end; await sleep(250)) {
      const isShown = published.every(({ probe, n }) => readers.haveSeen(probe, n));
      if (isShown && !(await Promise.all(services.map((service) => service.isReady()))).includes(false)) return;
    }
    console.error(`Not well within ${wellWithinMs / 1_000} s: going on.`);
  };

  const arena = { history, topicPrefix, broker, redis, proxy, projectors, apis, publisher };
  await isWell();
  const done = await doFaults(arena, { ...options, isWell });

  await publisher.stop();
  await isWell();
  await sleep(settleMs);
  await writeFinalAnswers({ apis, history, processes, kafkaEnv }, now, headersOf);
  for (const place of await rejectedPlaces(kafkaEnv)) history.add({ type: 'reject', ...place });
  await readers.stop();
  await history.end();
  return { ...done, history: history.path };
}
