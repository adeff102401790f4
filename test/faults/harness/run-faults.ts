import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../../infra/local/free-port.ts';
import { startKafkaBroker } from '../../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../../infra/local/redis-server.ts';
import { Processes } from '../../support/processes/process.ts';
import { ran } from '../../support/processes/ran.ts';
import { freshGroup, freshTopicPrefix } from '../../support/servers/backends.ts';
import { stallingProxy } from '../../support/servers/redis-proxies.ts';
import { riderTokens } from '../../support/sign-in/rider-tokens.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';
import { historyWriter, nowMs } from '../history.ts';
import { rejectedPlaces, writeFinalAnswers } from './final-answers.ts';
import { doFaults, type Nemesis } from './nemesis.ts';
import { type Asker, keyHeaders, reader, steadyProbes } from './probes.ts';
import { startPublisher } from './publisher.ts';
import { startReaders } from './readers.ts';
import { serviceAt } from './service.ts';

/** The calendar's clock: Portland's archive is of that week. */
const NOW = '2015-06-13T19:00:00Z';
/** Three quarters of 512 MiB, as the image has it in a container of that size. */
const NODE_OPTIONS = '--max-old-space-size=384';
const wellWithinMs = 60_000;
/** A token lives for an hour. */
const tokenEveryMs = 20 * 60_000;
/** After all is well: bad records are set aside by then, and what a process says of itself is well, too. */
const settleMs = 5_000;

/** Runs the service on servers of its own, does faults to it, and writes down what it does. */
export async function runFaults(nemesis: Nemesis): Promise<{ history: string; failures: string[] }> {
  const path = join(await mkdtemp(join(tmpdir(), 'ride-calendar-faults-')), 'history.jsonl');
  const history = historyWriter(path);
  await using servers = new AsyncDisposableStack();
  const processes = servers.use(new Processes());
  const redis = servers.adopt(await startRedisServer(), (each) => each.stop());
  const proxy = servers.adopt(await stallingProxy(redis.url), (each) => each.close());
  const authRedis = servers.adopt(await startRedisServer({ persistence: 'aof' }), (each) => each.stop());
  const broker = servers.adopt(await startKafkaBroker(), (each) => each.stop());
  const topicPrefix = freshTopicPrefix();
  const kafkaEnv = {
    KAFKA_BROKERS: broker.brokers,
    KAFKA_TOPIC_PREFIX: topicPrefix,
    KAFKA_GROUP: freshGroup(),
    // Portland's riders publish with librdkafka.
    KAFKA_PARTITIONER: 'crc32',
  };
  for (const command of [['topics'], ['archive', 'load', portlandDirectory]]) {
    const { code, err } = await ran(command, { ...kafkaEnv, LOG_LEVEL: 'error' });
    if (code !== 0) throw new Error(err.join('\n'));
  }
  const tokens = await riderTokens(await processes.folder());

  const REDIS_URL = proxy.url;
  const projector = { REDIS_URL, ...kafkaEnv, NODE_OPTIONS };
  const api = { REDIS_URL, AUTH_REDIS_URL: authRedis.url, NOW, ...tokens.env };
  const ports = (await freePorts(4)).map(String);
  const services = ['projector-1', 'projector-2', 'api-1', 'api-2'].map((name, i) =>
    serviceAt(name, { ...(i < 2 ? projector : api), PORT: ports[i]! }, processes, history),
  );
  const [projectors, apis] = [services.slice(0, 2), services.slice(2)];
  servers.defer(() => {
    for (const service of services) service.close();
  });

  let token = '';
  const headersOf = (as: Asker): Record<string, string> =>
    as === 'rider' ? { Authorization: `Bearer ${token}` } : keyHeaders(as);
  const renewToken = async () => {
    token = (await tokens.of(reader)).get(reader)!;
  };
  await renewToken();
  const renewing = setInterval(renewToken, tokenEveryMs);
  servers.defer(() => clearInterval(renewing));

  const publisher = await startPublisher(broker.brokers, topicPrefix, history);
  // A first start, before the others come.
  for (const some of [projectors.slice(0, 1), services]) {
    for (const service of some) await service.start();
    for (const service of some) await service.ready();
  }
  for (const place of await rejectedPlaces(kafkaEnv))
    history.add('publish', { sent: nowMs(), as: 'bad', ...place, version: null });
  const readers = startReaders(apis, headersOf, history);
  publisher.start();

  /** Until each API shows what was published before, and all are ready; a limit is no judgement: that is the checker's. */
  const isWell = async (): Promise<void> => {
    const versions = steadyProbes.map((probe) => [probe, publisher.published.get(probe)!] as const);
    for (const end = nowMs() + wellWithinMs; nowMs() < end; await sleep(250)) {
      const isShown = versions.every(([probe, n]) => readers.haveSeen(probe, n));
      if (isShown && !(await Promise.all(services.map((service) => service.isReady()))).includes(false)) return;
    }
    console.error(`Not well within ${wellWithinMs / 1_000} s: going on.`);
  };

  await isWell();
  const arena = { history, topicPrefix, broker, redis, proxy, projectors, apis, publisher };
  const failures = await doFaults(arena, nemesis, isWell);

  await publisher.stop();
  await isWell();
  await sleep(settleMs);
  await writeFinalAnswers(apis, history, processes, { ...kafkaEnv, NOW }, headersOf);
  for (const place of await rejectedPlaces(kafkaEnv)) history.add('reject', place);
  await readers.stop();
  await history.end();
  return { history: path, failures };
}
