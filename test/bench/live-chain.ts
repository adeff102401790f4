import { createHash } from 'node:crypto';
import kafkajs, { type Producer } from 'kafkajs';
import { type KafkaBroker, startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { dayText } from '../../schemas/views/days.ts';
import { kafkaClient } from '../support/kafka.ts';
import { type Env, Processes, type RunningService } from '../support/process.ts';
import { runCommand } from './commands.ts';
import type { Version } from './versions.ts';
import type { BenchRecord } from './world-archive.ts';

/** The whole chain as it is run, Kafka to HTTP, for benchmarks of how soon a change can be read. */
export const probes = ['probe0', 'probe1'] as const;
export const developerKey = `rck_${'b'.repeat(43)}`;
const topicPrefix = 'ride-calendar.';
const metros = 4;
const rides = 1_800;
const riders = 5_000;
const followed = 5;
const days = 30;
const firstDay = Math.floor(Date.now() / 86_400_000);

interface Change extends BenchRecord {
  /** Of a probe's change: its number. */
  seq?: number;
}

const stamps = { revision: 1, changed_at: 1 };
const rideOf = (i: number): string => `ride${i}`;
const dayOf = (i: number): number => firstDay + (i % days);

function ride(id: string, title: string, i: number): Change {
  const value = {
    ...{ ride: id, title, description: 'A ride that is ridden every week, at a pace that all can keep', type: 'Group' },
    ...{ metro: `metro${i % metros}`, distance: null, audience: 'GENERAL' as const, leaders: [], posted: true },
    ...{ url: 'https://rides.example/1', ...stamps },
  };
  return { topic: 'rides', key: id, value };
}

function night(id: string, i: number): Change {
  const day = dayOf(i);
  const meeting = { place_name: `Place No. ${i}`, district: null, secret: false, show_neighbourhood: true };
  const value = {
    ...{ ride: id, day, meet_time: 68_400_000, status: 'ON' as const, cancellation_reason: null, meeting },
    ...{ url: 'https://rides.example/1', ...stamps },
  };
  return { topic: 'nights', key: `${id}/${dayText(day)}`, value };
}

function* world(): Generator<Change> {
  const hash = createHash('sha256').update(developerKey).digest();
  yield { topic: 'developer-keys', key: 'bench', value: { key_id: 'bench', key_hash: hash, label: null, ...stamps } };
  for (let i = 0; i < metros; i++) {
    const value = { metro: `metro${i}`, name: `Metro ${i}`, time_zone: 'America/Los_Angeles', ...stamps };
    yield { topic: 'metros', key: value.metro, value };
  }
  for (const [i, id] of [...probes.entries(), ...Array.from({ length: rides }, (_, i) => [i, rideOf(i)] as const)]) {
    yield ride(id, `Ride ${i}`, i);
    yield night(id, i);
  }
  for (let i = 0; i < riders; i++) {
    const rider = `rider${i}`;
    yield { topic: 'riders', key: rider, value: { rider, handle: rider, name: `Rider No. ${i}`, ...stamps } };
    for (let n = 1; n <= followed; n++) {
      const other = `rider${(i + n * 37) % riders}`;
      const value = { rider, other, follows: true, close: false, flagged: false, blocked: false, ...stamps };
      yield { topic: 'relations', key: `${rider}/${other}`, value };
    }
  }
}

export const probeChange = (probe: number, seq: number): Change => ({
  ...ride(probes[probe]!, `Probe ${seq}`, probe),
  seq,
});

const anyRide = (): number => Math.floor(Math.random() * rides);

/** Two RSVPs in three, else a new title. */
export function anyChange(): Change {
  if (Math.random() < 2 / 3) return anyRsvp();
  const i = anyRide();
  return ride(rideOf(i), `Ride ${i}, ${Math.floor(Math.random() * 1e6)}`, i);
}

/** An RSVP, which shows in its night, its ride, its day, and to five followers. */
export function anyRsvp(response: 'GOING' | 'NONE' = Math.random() < 0.7 ? 'GOING' : 'NONE'): Change {
  const i = anyRide();
  const [rider, day] = [`rider${Math.floor(Math.random() * riders)}`, dayOf(i)];
  const value = { ride: rideOf(i), day, rider, response, saved: false, ...stamps };
  return { topic: 'attendance', key: `${value.ride}/${dayText(day)}/${rider}`, value };
}

/** Milliseconds on a clock that the processes of one machine share. */
export const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export class LiveChain {
  readonly broker: KafkaBroker;
  readonly redis: RedisServer;
  readonly processes: Processes;
  readonly env: Env;
  readonly #producer: Producer;

  private constructor(broker: KafkaBroker, redis: RedisServer, producer: Producer, version: Version) {
    this.broker = broker;
    this.redis = redis;
    this.processes = new Processes(version.folder);
    this.env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: redis.url, LOG_LEVEL: 'info' };
    this.#producer = producer;
  }

  /** Kafka with a world, and Redis. The services are those of a version. */
  static async start(version: Version, records: Iterable<Change> = world()): Promise<LiveChain> {
    const [broker, redis] = await Promise.all([startKafkaBroker(), startRedisServer()]);
    await runCommand(version, ['topics'], { KAFKA_BROKERS: broker.brokers });
    const producer = kafkaClient(broker.brokers).producer({
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    const chain = new LiveChain(broker, redis, producer, version);
    let batch: Change[] = [];
    for (const change of records) {
      if (batch.push(change) < 2_000) continue;
      await chain.publish(batch);
      batch = [];
    }
    await chain.publish(batch);
    return chain;
  }

  projector(): Promise<RunningService> {
    return this.processes.start('projector', this.env);
  }

  api(): Promise<RunningService> {
    return this.processes.start('api', { REDIS_URL: this.redis.url });
  }

  async publish(changes: readonly Change[]): Promise<void> {
    const byTopic = Map.groupBy(changes, ({ topic }) => topic);
    const topicMessages = [...byTopic].map(([topic, all]) => ({
      topic: topicPrefix + topic,
      messages: all.map(({ key, value, seq }) => ({
        key,
        value: value && encodeValue(topic as 'rides', value as never),
        ...(seq !== undefined && { headers: { seq: String(seq) } }),
      })),
    }));
    await this.#producer.sendBatch({ topicMessages, acks: -1 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#producer.disconnect();
    await this.processes.close();
    await Promise.all([this.broker.stop(), this.redis.stop()]);
  }
}
