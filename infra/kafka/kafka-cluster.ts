import { type Broker, listOffsetsV7, metadataV12, NetworkError, ResponseError } from '@platformatic/kafka';
import { settledWithin } from '../../projector/ports/waiting.ts';
import { errorText } from './error-text.ts';
import { type FetchResponsePartition, fetchApi } from './fetch-api.ts';
import { brokerAddress, connectionPool, type KafkaConnection } from './kafka-client.ts';
import { committedRecords } from './kafka-record-batches.ts';
import { isUnauthorized, MissingKafkaRightError, namingRight } from './kafka-refusal.ts';
import type { FetchedRecord } from './record-batch.ts';

/**
 * A topic's id, which changes when the topic is deleted and recreated, and of each partition the leader (-1: none now) and
 * its epoch.
 */
export interface KafkaTopic {
  name: string;
  id: string;
  leaders: number[];
  epochs: number[];
}

/** Who leads a partition: its node id, -1 while there is none, and the epoch of its leadership. */
export interface PartitionLeader {
  node: number;
  epoch: number;
}

/** A partition to fetch from. */
export interface FetchPartition {
  topicId: string;
  partition: number;
  offset: number;
  /** The epoch of the leader as far as is known; another one's leader answers with an error. */
  leaderEpoch: number;
  /** The epoch of the batch before `offset`; -1 where none was read. A log that ended that epoch sooner answers `diverging`. */
  lastEpoch: number;
}

/** What a fetch returned for one partition. */
export interface FetchedPartition {
  topicId: string;
  partition: number;
  /** The offset that was requested. */
  offset: number;
  /** Kafka's error code. 0 for none. */
  errorCode: number;
  records: FetchedRecord[];
  nextOffset: number;
  /** The offset after the last record, including open transactions. */
  highWatermark: number;
  /** Where the first open transaction begins, else the high watermark. A `read_committed` reader gets no further. */
  lastStableOffset: number;
  /** The epoch of the last batch; the one asked with where there is none. */
  lastEpoch: number;
  /** The log lost what was read before, and has other records there now (KIP-595). */
  diverging: boolean;
}

type MetadataResponse = metadataV12.MetadataResponse;

export const kafkaErrors = { offsetOutOfRange: 1, unknownTopic: 3, unknownTopicId: 100 } as const;

/** A connection that is still being made, or whose broker accepts no more data, is left to close by itself. */
const closeWaitMs = 250;
const readCommitted = 1;
const earliest = -2n;
const latest = -1n;
// Of compressed records: decompressed, with an object for each record, they take ten to twenty times as much memory. Two
// responses are in memory at a time. Kafka sends one batch that is larger.
const partitionBytesMax = 256 << 10;
const responseBytesMax = 1 << 20;

/** Hears how long each answer of Kafka took. */
export type RequestObserver = (request: 'metadata' | 'offsets' | 'fetch', seconds: number) => void;

/**
 * The few requests of a reader without a consumer group, in versions that brokers since Kafka 3.1 support: those that
 * identify a topic by its id, so that a recreated topic is not mistaken for the earlier one. Every request may throw.
 * Nothing is retried here.
 */
export class KafkaCluster {
  readonly #answered: RequestObserver;
  /** A broker answers a connection's requests in turn: what is asked beside a fetch must not wait for that. */
  readonly #asking;
  readonly #fetching;
  readonly #bootstrap: { host: string; port: number }[];
  #brokers = new Map<number, { host: string; port: number }>();

  constructor(kafka: KafkaConnection, answered: RequestObserver = () => {}) {
    this.#answered = answered;
    this.#asking = connectionPool(kafka);
    this.#fetching = connectionPool(kafka);
    this.#bootstrap = kafka.brokers.map(brokerAddress);
  }

  /** The topics among `names` that exist, in the same order. */
  async topics(names: readonly string[]): Promise<KafkaTopic[]> {
    const connection = await this.#asking.getFirstAvailable([...this.#bootstrap, ...this.#brokers.values()]);
    const response = await this.#measured(
      'metadata',
      metadataV12.api.async(connection, [...names], false, false).catch(responseOf<MetadataResponse>),
    );
    this.#brokers = new Map(response.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
    const found = response.topics.filter(({ errorCode, partitions }) => errorCode === 0 && partitions.length > 0);
    const unsure = response.topics.find(({ errorCode }) => errorCode !== 0 && errorCode !== kafkaErrors.unknownTopic);
    if (unsure && isUnauthorized(unsure.errorCode))
      throw new MissingKafkaRightError(`Describe on topic ${unsure.name}`);
    if (unsure) throw new Error(`Cannot look up topic ${unsure.name}: ${errorText(unsure.errorCode)}`);
    const byName = new Map(
      found.map(({ name, topicId, partitions }) => {
        const byNumber = [...partitions].sort((a, b) => a.partitionIndex - b.partitionIndex);
        const leaders = byNumber.map(({ leaderId }) => leaderId);
        return [name, { id: topicId, leaders, epochs: byNumber.map(({ leaderEpoch }) => leaderEpoch) }];
      }),
    );
    return names.flatMap((name) => (byName.has(name) ? [{ name, ...byName.get(name)! }] : []));
  }

  /** The first offset and the end (high watermark) of every partition, sampled now. */
  async bounds(topics: readonly KafkaTopic[]): Promise<Map<string, { low: number; end: number }[]>> {
    const lows = await this.#listOffsets(topics, earliest);
    const ends = await this.#listOffsets(topics, latest);
    return new Map(
      topics.map(({ name, leaders }) => [
        name,
        leaders.map((_, partition) => ({
          low: lows.get(`${name}/${partition}`)!,
          end: ends.get(`${name}/${partition}`)!,
        })),
      ]),
    );
  }

  async #listOffsets(topics: readonly KafkaTopic[], timestamp: bigint): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const nodes = new Set(topics.flatMap(({ leaders }) => leaders));
    for (const node of nodes) {
      const connection = await this.#asking.get(this.#broker(node));
      const asked = topics.map(({ name, leaders }) => ({
        name,
        partitions: leaders.flatMap((leader, partitionIndex) =>
          leader === node ? [{ partitionIndex, currentLeaderEpoch: -1, timestamp }] : [],
        ),
      }));
      // Isolation level 0: the end is the high watermark, so records that an open transaction hides count as not yet
      // read.
      const some = asked.filter(({ partitions }) => partitions.length);
      const answered = listOffsetsV7.api.async(connection, -1, 0, some).catch((error: unknown) => {
        throw namingRight(error, `Describe on ${topicsInWords(some)}`);
      });
      const response = await this.#measured('offsets', answered);
      for (const { name, partitions } of response.topics) {
        for (const { partitionIndex, offset } of partitions) found.set(`${name}/${partitionIndex}`, Number(offset));
      }
    }
    return found;
  }

  /** Records from the given offsets on, at most 1 MB unless one batch is larger. Waits up to `waitMs` if there are none. */
  async fetch(node: number, partitions: readonly FetchPartition[], waitMs: number): Promise<FetchedPartition[]> {
    const connection = await this.#fetching.get(this.#broker(node));
    const from = new Map(partitions.map((asked) => [`${asked.topicId}/${asked.partition}`, asked]));
    const byTopic = Map.groupBy(partitions, ({ topicId }) => topicId);
    const asked = [...byTopic].map(([topicId, list]) => ({ topicId, partitions: list.map(fetchRequest) }));
    // Session 0, epoch -1: no fetch session. Every request names everything it wants.
    const response = await this.#measured(
      'fetch',
      fetchApi.async(connection, waitMs, 1, responseBytesMax, readCommitted, 0, -1, asked, [], ''),
    );
    if (response.errorCode !== 0) throw new Error(`Cannot fetch: ${errorText(response.errorCode)}`);
    return response.responses.flatMap(({ topicId, partitions }) =>
      partitions.flatMap((found) => {
        const asked = from.get(`${topicId}/${found.partitionIndex}`);
        return asked === undefined ? [] : [fetchedPartition(asked, found)];
      }),
    );
  }

  async #measured<T>(request: Parameters<RequestObserver>[0], answer: Promise<T>): Promise<T> {
    const started = performance.now();
    const result = await answer;
    this.#answered(request, (performance.now() - started) / 1000);
    return result;
  }

  #broker(node: number): Broker {
    const broker = this.#brokers.get(node);
    if (!broker)
      throw new NetworkError(node < 0 ? 'a partition has no leader just now' : `broker ${node} is not in the cluster`);
    return broker;
  }

  async close(): Promise<void> {
    await settledWithin(Promise.all([this.#asking.close(), this.#fetching.close()]), closeWaitMs);
  }
}

/** The leaders, by `topic/partition`. */
export const leadersOf = (topics: readonly KafkaTopic[]): Map<string, PartitionLeader> =>
  new Map(
    topics.flatMap(({ name, leaders, epochs }) =>
      leaders.map((node, partition) => [`${name}/${partition}`, { node, epoch: epochs[partition]! }]),
    ),
  );

const topicsInWords = (topics: readonly { name: string }[]): string =>
  `topic ${topics.map(({ name }) => name).join(', ')}`;

const fetchRequest = ({ partition, offset, leaderEpoch, lastEpoch }: FetchPartition) => ({
  partition,
  currentLeaderEpoch: leaderEpoch,
  fetchOffset: BigInt(offset),
  lastFetchedEpoch: lastEpoch,
  partitionMaxBytes: partitionBytesMax,
});

function fetchedPartition(asked: FetchPartition, found: FetchResponsePartition): FetchedPartition {
  const { topicId, partition, offset, lastEpoch } = asked;
  const { batches } = found;
  return {
    topicId,
    partition,
    offset,
    errorCode: found.errorCode,
    ...committedRecords(batches, found.abortedTransactions, offset),
    highWatermark: found.highWatermark,
    lastStableOffset: found.lastStableOffset,
    lastEpoch: batches.at(-1)?.leaderEpoch ?? lastEpoch,
    diverging: found.divergesAt >= 0,
  };
}

/** An error in one part of a response does not affect the rest. */
function responseOf<Response>(error: unknown): Response {
  if (error instanceof ResponseError) return error.response as Response;
  throw error;
}
