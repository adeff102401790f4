import type { EncodedRecord, EventLog, Follower, LogStatus, Position } from '../../../projector/ports/event-log.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { Stop, wait } from '../../../projector/running/stop.ts';
import type { SchemaName, WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { byTopic, topicNames } from '../../../schemas/events/records.ts';
import type { SchemaSource } from '../../registry/schema-registry.ts';
import { KafkaCluster, type KafkaTopic, type RequestObserver } from '../client/kafka-cluster.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { type Asking, untilAnswered } from '../client/logged-back-off.ts';
import { LogTopics } from '../topics/log-topics.ts';
import { cleanupPolicies, leastSettingMs } from '../topics/topic-settings.ts';
import { deliveredRecord } from './delivered-record.ts';
import { Fetcher, type FetchHandler, type Remainder, type WaitingPiece } from './fetcher.ts';
import type { FollowedPartition } from './followed-partition.ts';
import { GroupPositions } from './group-positions.ts';

interface KafkaEventLogOptions extends Asking {
  kafka: KafkaConnection;
  topicPrefix: string;
  /** The writers' schemas known so far. What is looked up is added. */
  writers: WriterSchemas;
  /** Where others are looked up. Null: a record that needs another one is undecodable. */
  schemas: SchemaSource | null;
  /** KAFKA_GROUP: positions are committed to it every few seconds, for Kafka's own lag tools. Null: not committed. */
  group?: string | null;
  /** How often topics are checked for a new number of partitions or a new leader. 10 s by default. */
  checkEveryMs?: number;
  /** Is told how long each answer of Kafka took. */
  onAnswer?: RequestObserver;
  /** Aborts every wait, as `close` does. The wait throws the signal's reason. */
  signal?: AbortSignal;
}

/**
 * The event log in Kafka. It reads without a consumer group, from positions of its own, with `read_committed`. While
 * the schema registry is away or an open transaction hides its records, a partition waits and reports that by
 * `onWaiting`; the others go on. For faults see EventLog. Any other error from Kafka is logged and retried.
 */
export function kafkaEventLog(options: KafkaEventLogOptions): EventLog {
  const cluster = new KafkaCluster(options.kafka, options.onAnswer);
  const topics = new LogTopics(cluster, options.topicPrefix);
  const closed = new Stop([options.signal]);
  const asking = { ...options, signal: closed.signal };
  let following: Following | null = null;
  return {
    bounds: () => untilAnswered('Cannot read the bounds of the event log', () => topics.bounds(), asking),
    identity: () => untilAnswered('Cannot look up the topics', () => topics.identity(), asking),
    policies: async () => {
      const names = topicNames.map((name) => options.topicPrefix + name);
      const found = await cleanupPolicies(options.kafka, names, asking);
      return found && byTopic((name) => found.get(options.topicPrefix + name)!);
    },
    follow: async (from, follower, signal) => {
      const stop = new Stop([signal, closed.signal]);
      const group = following ? null : (options.group ?? null);
      const mine = new Following({ ...options, group, topics, from, follower, signal: stop.signal });
      following ??= mine;
      await mine.run(cluster).finally(() => {
        stop.end();
        if (following === mine) following = null;
      });
    },
    status: () => following?.status() ?? null,
    close: async () => {
      closed.end();
      await cluster.close();
    },
  };
}

/** A look-up of a schema, and whether an attempt has failed: then nobody waits for the partitions that need it. */
interface LookUp {
  for: 'registry' | 'redis';
  sinceMs: number;
  failed: boolean;
  /** Resolves once the schema is known or the signal aborts. */
  known: Promise<unknown>;
}

interface FollowingParts extends KafkaEventLogOptions {
  topics: LogTopics;
  from: Position;
  follower: Follower;
  signal: AbortSignal;
}

/** One call of `follow`. */
class Following {
  readonly #parts: FollowingParts;
  /** Look-ups under way: one for each schema id, however many partitions wait for it (docs/rules.md#schema-registry). */
  readonly #lookUps = new Map<SchemaName, LookUp>();
  /** Partitions that wait for a schema. */
  readonly #needSchemas = new Map<FollowedPartition, LookUp>();
  #fetcher: Fetcher | null = null;

  constructor(parts: FollowingParts) {
    this.#parts = parts;
  }

  async run(cluster: KafkaCluster): Promise<void> {
    const { kafka, log, from, signal, checkEveryMs = 10_000, group = null } = this.#parts;
    try {
      const topics = await this.#findTopics();
      this.#parts.topics.assertFits(topics, from);
      const names = topics.map(({ name }) => name);
      const retentionMs = await leastSettingMs('delete.retention.ms', kafka, names, { log, signal });
      const positions = group === null ? null : new GroupPositions(kafka, group, log);
      const handler: FetchHandler = {
        onPiece: async (partition, piece) => {
          const remainder = await this.#take(partition, piece);
          if (!remainder) positions?.reached(partition.topic, partition.partition, piece.nextOffset);
          return remainder;
        },
        topics: () => this.#findTopics(),
        onHeldBack: (partition) => this.#heldBack(partition),
        retentionMs,
      };
      const offsets = (topic: string) => from[this.#parts.topics.shortName(topic)];
      const fetcher = new Fetcher(topics, offsets, { ...this.#parts, cluster, handler, checkEveryMs });
      this.#fetcher = fetcher;
      try {
        await fetcher.run(signal);
      } finally {
        await positions?.close();
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  status(): LogStatus | null {
    const fetcher = this.#fetcher;
    if (!fetcher) return null;
    const partitions = fetcher.partitions.map((one): LogStatus['partitions'][number] => {
      const topic = this.#parts.topics.shortName(one.topic);
      const held = one.heldBack ? { for: 'transaction' as const, sinceMs: one.heldBackSinceMs! } : null;
      const waits = this.#needSchemas.get(one) ?? held;
      return { topic, partition: one.partition, end: one.end, unreadSinceMs: fetcher.unreadSinceMs(one), waits };
    });
    const { gone } = this.#parts.topics;
    const since = [fetcher.silentSinceMs, gone?.sinceMs].filter((ms) => typeof ms === 'number');
    return { partitions, silentSinceMs: since.length > 0 ? Math.min(...since) : null, lacks: gone?.words ?? null };
  }

  #findTopics(): Promise<KafkaTopic[]> {
    const find = () => this.#parts.topics.find();
    return untilAnswered('Cannot look up the topics of the event log', find, this.#parts);
  }

  /** Delivers the records before the hold and before the first one whose schema is not known yet. */
  async #take(from: FollowedPartition, piece: WaitingPiece): Promise<Remainder | null> {
    const { writers, schemas, follower, signal } = this.#parts;
    const { partition } = from;
    const topic = this.#parts.topics.shortName(from.topic);
    const hold = follower.hold?.(topic, partition) ?? null;
    const records: EncodedRecord[] = [];
    let { nextOffset } = piece;
    let goOn: (() => Promise<void>) | null = null;
    // Compare offsets, not records: compaction may have removed the record at the hold.
    if (hold && hold.offset < nextOffset) {
      nextOffset = hold.offset;
      goOn = () => wait(signal, hold.moved);
    }
    for (const fetched of piece.records) {
      if (fetched.offset >= nextOffset) break;
      const record = deliveredRecord(topic, partition, fetched, writers, schemas !== null);
      if (typeof record !== 'object') {
        nextOffset = fetched.offset;
        goOn = () => this.#untilSchemaIsKnown(from, record);
        break;
      }
      records.push(record);
    }
    await follower.onBatch({ topic, partition, records, nextOffset, unreadSinceMs: piece.sinceMs });
    return goOn && { from: nextOffset, until: goOn() };
  }

  async #untilSchemaIsKnown(partition: FollowedPartition, name: SchemaName): Promise<void> {
    const lookUp = this.#lookUps.get(name) ?? this.#lookUp(name);
    this.#needSchemas.set(partition, lookUp);
    if (lookUp.failed) this.#sayWaiting(partition);
    await lookUp.known;
    this.#needSchemas.delete(partition);
    this.#sayWaiting(partition);
  }

  #lookUp(name: SchemaName): LookUp {
    const { writers, schemas, log, signal } = this.#parts;
    const [what, who] =
      typeof name === 'number'
        ? (['registry', 'the schema registry'] as const)
        : (['redis', 'the view store'] as const);
    const lookUp: LookUp = { for: what, sinceMs: realClock.nowMs(), failed: false, known: Promise.resolve() };
    const attempt = async (): Promise<void> => {
      try {
        writers.add(name, await schemas!.lookUp(name, signal));
      } catch (error) {
        lookUp.failed = true;
        for (const [partition, needed] of this.#needSchemas) if (needed === lookUp) this.#sayWaiting(partition);
        throw error;
      }
    };
    lookUp.known = untilAnswered(`Cannot look up schema ${name}`, attempt, { log, signal, who })
      .catch(() => undefined)
      .finally(() => this.#lookUps.delete(name));
    this.#lookUps.set(name, lookUp);
    return lookUp;
  }

  #heldBack(from: FollowedPartition): void {
    const { topic, partition, offset, heldBack } = from;
    const what = `an open transaction at ${topic}/${partition}@${offset}`;
    if (heldBack) this.#parts.log.warn(`Cannot read on: ${what} hides what follows until its producer ends it`);
    else this.#parts.log.info(`Reading on: ${topic}/${partition} is no longer held back by an open transaction`);
    this.#sayWaiting(from);
  }

  #sayWaiting(from: FollowedPartition): void {
    const waiting = from.heldBack || this.#needSchemas.get(from)?.failed === true;
    const { follower, topics } = this.#parts;
    follower.onWaiting?.(topics.shortName(from.topic), from.partition, waiting);
  }
}
