import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../../infra/local/free-port.ts';
import { startKafkaBroker } from '../../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../../infra/local/redis-server.ts';
import { nextVersion } from '../../support/processes/next-version.ts';
import { type Env, Processes } from '../../support/processes/process.ts';
import { type SteppedClock, steppedClock } from '../../support/processes/stepped-clock.ts';
import { riderTokens } from '../../support/sign-in/rider-tokens.ts';
import { PortlandInKafka } from '../../support/worlds/portland-in-kafka.ts';
import type { Arena } from '../nemesis/fault.ts';
import { allFaults, Nemesis } from '../nemesis/nemesis.ts';
import { rejectedPlaces, writeFinalAnswers } from './final-answers.ts';
import { HistoryWriter, nowMs } from './history-writer.ts';
import { type Asker, keyHeaders, reader } from './probes.ts';
import { Publisher } from './publisher.ts';
import { Readers, readersOf } from './readers.ts';
import { Service } from './service.ts';
import { type StoreKind, startStores } from './stores.ts';
import { Watcher } from './watcher.ts';

/** The calendar's clock: Portland's archive is of that week. */
const now = '2015-06-13T19:00:00Z';
/** Three quarters of 512 MiB, as the image has it in a container of that size. */
const projectorMemory = '--max-old-space-size=384';
const changesPerSecond = 20;
const readerPauseMs = 700;
const watchEveryMs = 1_000;
const wellWithinMs = 60_000;
/** A token lives for an hour. */
const tokenEveryMs = 20 * 60_000;
/** Everything that was published is readable by then, and what a process says of itself is, too. */
const settleMs = 20_000;

export interface RunOptions {
  seed: number;
  minutes: number;
  redis: StoreKind;
  /** The names of the faults to choose from; all that are possible if absent. */
  faults: readonly string[] | null;
  /** Whether the machine has nothing else to do, so that the strict limits hold. */
  isQuiet: boolean;
  /** Where the history goes; a new temporary folder if absent. */
  out: string | null;
}

export interface RunResult {
  history: string;
  alone: ReadonlyMap<string, number>;
  together: ReadonlyMap<string, number>;
  /** The names of the faults that could come. */
  faults: string[];
  /** What the harness itself could not do. */
  failures: string[];
}

/** Runs the service on servers of its own, does faults to it, and writes down what it does. */
export async function runFaults(options: RunOptions): Promise<RunResult> {
  const folder = options.out ?? (await mkdtemp(join(tmpdir(), 'ride-calendar-faults-')));
  await mkdir(folder, { recursive: true });
  const readerNames = readersOf(['api-1', 'api-2']);
  const history = new HistoryWriter(join(folder, 'history.jsonl'), { seed: options.seed, readers: readerNames });
  await using servers = new AsyncDisposableStack();
  const processes = servers.adopt(new Processes(), (each) => each.close());
  const stores = servers.adopt(await startStores(options.redis), (each) => each.close());
  const authRedis = servers.adopt(await startRedisServer({ persistence: 'aof' }), (each) => each.stop());
  const broker = servers.adopt(await startKafkaBroker(), (each) => each.stop());
  const portland = await PortlandInKafka.load(broker.brokers);
  await portland.close();
  const kafkaEnv = portland.env;
  const tokens = await riderTokens(await processes.folder());

  const clocks = new Map<string, SteppedClock>();
  for (const name of ['projector-2', 'api-2']) {
    const clock = await steppedClock(await processes.folder());
    if (clock) clocks.set(name, clock);
  }
  const apiEnv = { ...stores.env, AUTH_REDIS_URL: authRedis.url, NOW: now, ...tokens.env };
  const projectorEnv = { ...stores.env, ...kafkaEnv, NODE_OPTIONS: projectorMemory };
  const ports = (await freePorts(6)).map(String);
  const make = (kind: 'projector' | 'api', env: Env) => (i: number) => {
    const name = `${kind}-${i}`;
    return new Service(name, kind, { ...env, ...clocks.get(name)?.env, PORT: ports.pop()! }, processes, history);
  };
  const projectors = [1, 2].map(make('projector', projectorEnv));
  const apis = [1, 2].map(make('api', apiEnv));
  const services = [...projectors, ...apis];
  const nextProjectors = [3, 4].map(make('projector', projectorEnv));
  const everyService = [...services, ...nextProjectors];
  servers.defer(() => {
    for (const service of everyService) service.close();
  });

  let made: Promise<Processes> | null = null;
  const next = (): Promise<Processes> => {
    made ??= processes.folder().then(async (parent) => {
      return servers.adopt(new Processes(await nextVersion(join(parent, 'next'))), (each) => each.close());
    });
    return made;
  };
  let token = '';
  const headersOf = ({ as }: { as: Asker }): Record<string, string> =>
    as === 'rider' ? { Authorization: `Bearer ${token}` } : keyHeaders(as);
  const renewToken = async () => {
    token = (await tokens.of(reader)).get(reader)!;
  };
  await renewToken();
  const renewing = setInterval(renewToken, tokenEveryMs);
  servers.defer(() => clearInterval(renewing));

  const publisher = new Publisher({
    brokers: broker.brokers,
    topicPrefix: kafkaEnv.KAFKA_TOPIC_PREFIX!,
    history,
    rate: changesPerSecond,
  });
  await publisher.begin();
  const watcher = new Watcher(everyService, history);
  const leader = () => projectors.find(({ name }) => watcher.leaders.has(name)) ?? projectors[0]!;
  const standby = () => projectors.find((each) => each !== leader())!;
  const arena: Arena = {
    ...{ history, processes, kafkaEnv, broker, stores, authRedis, portland },
    ...{ projectors, apis, nextProjectors, clocks, publisher, next, leader, standby },
  };
  await projectors[0]!.start();
  await projectors[0]!.ready();
  for (const service of services.slice(1)) await service.start();
  for (const service of services) await service.ready();
  for (const place of await rejectedPlaces(arena)) {
    const sent = nowMs();
    history.add({ type: 'publish', sent, as: 'bad', ...place, version: null });
  }
  const readers = new Readers(apis, headersOf, history);
  watcher.start(watchEveryMs);
  readers.start(readerPauseMs);
  publisher.start();

  const wanted = () => everyService.filter((service) => service.isWanted);
  /** Until each API shows what was published before, and all are ready; a limit is no judgement: that is the checker's. */
  const isWell = async (): Promise<void> => {
    const published = [...publisher.published.values()].filter(({ probe }) => probe !== 'comes');
    for (const end = nowMs() + wellWithinMs; nowMs() < end; await sleep(250)) {
      const isShown = published.every(({ probe, n }) => readers.haveSeen(probe, n));
      const statuses = await Promise.all(wanted().map((service) => service.readiness()));
      if (isShown && statuses.every(({ status }) => status === 200)) return;
    }
    console.error(`Not well within ${wellWithinMs / 1_000} s: going on.`);
  };

  const possible = allFaults.filter((fault) => fault.isPossible?.(arena) ?? true);
  const chosen = possible.filter(({ name }) => options.faults?.includes(name) ?? true);
  const nemesis = new Nemesis(arena, chosen, { ...options, isWell });
  await isWell();
  await nemesis.run(nowMs() + options.minutes * 60_000);

  await publisher.stop();
  await sleep(settleMs);
  await writeFinalAnswers(arena, now, headersOf);
  for (const place of await rejectedPlaces(arena)) history.add({ type: 'reject', ...place });
  await Promise.all([readers.stop(), watcher.stop()]);
  await history.end();
  const { alone, together, failures } = nemesis;
  return { history: history.path, alone, together, failures, faults: chosen.map(({ name }) => name) };
}
