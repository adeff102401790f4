import { type Broker, listOffsetsV7, metadataV12, NetworkError, ResponseError } from '@platformatic/kafka';
import { settledWithin } from '../../../projector/running/waiting.ts';
import { errorText, isUnauthorized, MissingKafkaRightError, namingRight } from '../protocol/broker-refusal.ts';
import { type FetchedPartition, type FetchPartition, fetchedPartitions, requestFetch } from '../protocol/fetch-api.ts';
import { brokerAddress, connectionPool, type KafkaConnection } from './kafka-connection.ts';

/** A topic, and who leads its partitions. Its id changes when it is deleted and recreated. */
export interface KafkaTopic {
  name: string;
  id: string;
  /** `node`: the leader's id, -1 while there is none. `epoch`: of its leadership. */
  partitions: { node: number; epoch: number }[];
}

type MetadataResponse = metadataV12.MetadataResponse;

export const kafkaErrors = { offsetOutOfRange: 1, unknownTopic: 3 } as const;

/** Closing waits no longer than this, for example for a broker that accepts no data. */
const closeWaitMs = 250;
const earliest = -2n;
const latest = -1n;

/** Is told how long each answer of Kafka took. */
export type RequestObserver = (request: 'metadata' | 'offsets' | 'fetch', seconds: number) => void;

/**
 * The few requests that fetching without a consumer group needs. Brokers since Kafka 3.1 support their versions. They
 * identify a topic by its id, so that a recreated topic is not mistaken for the earlier one. Every request may throw.
 * Nothing is retried here.
 */
export class KafkaCluster {
  readonly #answered: RequestObserver;
  /** Not for fetches: a broker answers the requests of a connection in turn, and a fetch may wait for records. */
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
    const failed = response.topics.find(({ errorCode }) => errorCode !== 0 && errorCode !== kafkaErrors.unknownTopic);
    if (failed && isUnauthorized(failed.errorCode))
      throw new MissingKafkaRightError(`Describe on topic ${failed.name}`);
    if (failed) throw new Error(`Cannot look up topic ${failed.name}: ${errorText(failed.errorCode)}`);
    const byName = new Map(found.map((topic) => [topic.name, topic]));
    return names.flatMap((name) => {
      const topic = byName.get(name);
      if (!topic) return [];
      const byNumber = topic.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex);
      const partitions = byNumber.map(({ leaderId, leaderEpoch }) => ({ node: leaderId, epoch: leaderEpoch }));
      return [{ name, id: topic.topicId!, partitions }];
    });
  }

  /** The first offset and the end (high watermark) of every partition, sampled now. */
  async bounds(topics: readonly KafkaTopic[]): Promise<Map<string, { low: number; end: number }[]>> {
    const lows = await this.#listOffsets(topics, earliest);
    const ends = await this.#listOffsets(topics, latest);
    return new Map(
      topics.map(({ name, partitions }) => [
        name,
        partitions.map((_, i) => ({ low: lows.get(`${name}/${i}`)!, end: ends.get(`${name}/${i}`)! })),
      ]),
    );
  }

  async #listOffsets(topics: readonly KafkaTopic[], timestamp: bigint): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    const nodes = new Set(topics.flatMap(({ partitions }) => partitions.map((leader) => leader.node)));
    for (const node of nodes) {
      const connection = await this.#asking.get(this.#broker(node));
      const asked = topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.flatMap((leader, partitionIndex) =>
          leader.node === node ? [{ partitionIndex, currentLeaderEpoch: -1, timestamp }] : [],
        ),
      }));
      // Isolation level 0: the end is the high watermark, so records that an open transaction hides count as not yet
      // read.
      const some = asked.filter(({ partitions }) => partitions.length);
      const answered = listOffsetsV7.api.async(connection, -1, 0, some).catch((error: unknown) => {
        throw namingRight(error, `Describe on topic ${some.map(({ name }) => name).join(', ')}`);
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
    return fetchedPartitions(partitions, await this.#measured('fetch', requestFetch(connection, partitions, waitMs)));
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

/** The client throws a response if any part of it has an error code. The other parts are good. */
function responseOf<Response>(error: unknown): Response {
  if (error instanceof ResponseError) return error.response as Response;
  throw error;
}
