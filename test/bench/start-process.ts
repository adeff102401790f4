import { fetchV13 } from '@platformatic/kafka';
import { brokerAddress, connectionPool } from '../../infra/kafka/kafka-client.ts';
import { KafkaCluster, type KafkaTopic } from '../../infra/kafka/kafka-cluster.ts';
import { kafkaEventLog } from '../../infra/kafka/kafka-event-log.ts';
import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { Folding } from '../../projector/folding.ts';
import { realClock } from '../../projector/ports/clock.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { noMetrics } from '../../projector/ports/metrics.ts';
import { positionOf } from '../../projector/position.ts';
import { Projector } from '../../projector/projector.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { buildId } from '../../services/wiring/projector/project.ts';

/** One of the processes that `start.ts` compares: it starts, says what it took, and ends. */
export type StartSide = 'bare' | 'folded' | 'started';

/** What a start took. CPU is of the whole process from when its code was loaded; views are those that were written. */
export interface StartCost {
  cpuSeconds: number;
  seconds: number;
  rssMiBMax: number;
  records: number;
  views: number;
}

const topicPrefix = 'ride-calendar.';
// A view's tag is known to be right once a round after its compare is stored: then a next start need not compare it.
const settleMs = 3_000;
const [side, brokers, redisUrl] = process.argv.slice(2) as [StartSide, string, string];
const kafka = { brokers: [brokers], ssl: false, sasl: null };
const openLog = () =>
  kafkaEventLog({ kafka, topicPrefix, writers: new WriterSchemas(), registry: null, log: silentLog });
const { signal } = new AbortController();

type Done = { records: number; views: number };

/** Fetches all records as the client library parses them, and counts them. */
async function bare(): Promise<Done> {
  const cluster = new KafkaCluster(kafka);
  const topics = await cluster.topics(topicNames.map((name) => topicPrefix + name));
  const bounds = await cluster.bounds(topics);
  const pool = connectionPool(kafka);
  const connection = await pool.get(brokerAddress(brokers));
  const left = topics.flatMap(({ id, name }) =>
    bounds.get(name)!.map(({ low, end }, partition) => ({ id, partition, at: low, end })),
  );
  let records = 0;
  for (;;) {
    const asked = left.filter(({ at, end }) => at < end);
    if (asked.length === 0) break;
    const response = await fetchV13.api.async(connection, 500, 1, 10 << 20, 1, 0, -1, requests(topics, asked), [], '');
    for (const { topicId, partitions } of response.responses) {
      for (const { partitionIndex, records: batches } of partitions) {
        const one = left.find(({ id, partition }) => id === topicId && partition === partitionIndex)!;
        for (const batch of batches ?? []) {
          records += batch.records.length;
          one.at = Number(batch.firstOffset) + batch.lastOffsetDelta + 1;
        }
        // Kafka fills a response in the order of the request.
        if (batches?.length) left.push(...left.splice(left.indexOf(one), 1));
      }
    }
  }
  await Promise.all([pool.close(), cluster.close()]);
  return { records, views: 0 };
}

const requests = (topics: readonly KafkaTopic[], asked: readonly { id: string; partition: number; at: number }[]) =>
  topics.map(({ id }) => ({
    topicId: id,
    partitions: asked
      .filter((one) => one.id === id)
      .map(({ partition, at }) => ({
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: BigInt(at),
        lastFetchedEpoch: -1,
        partitionMaxBytes: 1 << 20,
      })),
  }));

/** As `verify` folds, or a standby: no view is rendered. */
async function folded(): Promise<Done> {
  const eventLog = openLog();
  const ends = positionOf(await eventLog.bounds(), 'end');
  const stop = new AbortController();
  const deps = { eventLog, clock: realClock, log: silentLog, signal, rejects: null, metrics: noMetrics };
  const own = new Folding(await eventLog.bounds(), ends, deps);
  const following = own.follow(stop.signal);
  await own.foldTo(ends, signal);
  stop.abort();
  await following;
  await eventLog.close();
  return { records: recordsIn(ends), views: 0 };
}

/** As a projector starts, until its views stand. Then it stops as by SIGTERM, which is not measured. */
async function started(onReady: () => void): Promise<Done> {
  const eventLog = openLog();
  const writer = await redisViewWriter({ url: redisUrl, cluster: false, keyPrefix: 'bench:' });
  let views = 0;
  const written = (count: number) => {
    views += count;
  };
  const metrics = { ...noMetrics, written };
  const build = buildId();
  const projector = new Projector({ eventLog, writer, rejects: null, log: silentLog, metrics, build });
  const stop = new AbortController();
  const running = projector.run(stop.signal);
  const ready = async () => {
    while (!(projector.ready && projector.role === 'leader')) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await Promise.race([ready(), running]);
  onReady();
  const done = { records: recordsIn(projector.position), views };
  await new Promise((resolve) => setTimeout(resolve, settleMs));
  stop.abort();
  await running;
  await Promise.all([writer.close(), eventLog.close()]);
  return done;
}

const recordsIn = (position: Record<string, readonly number[]>): number =>
  Object.values(position)
    .flat()
    .reduce((sum, offset) => sum + offset, 0);

async function measure(): Promise<StartCost> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  let cost = { cpuSeconds: 0, seconds: 0, rssMiBMax: 0 };
  const end = () => {
    const { user, system } = process.cpuUsage(cpu);
    cost = {
      cpuSeconds: (user + system) / 1e6,
      seconds: (performance.now() - startMs) / 1_000,
      rssMiBMax: process.resourceUsage().maxRSS / 1_024,
    };
  };
  const done = side === 'started' ? await started(end) : await (side === 'bare' ? bare() : folded());
  if (side !== 'started') end();
  return { ...cost, ...done };
}

process.once('message', async () => {
  process.send!(await measure());
  process.disconnect();
});
