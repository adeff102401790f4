import { type Connection, createAPI, fetchV13, type Reader, readKnownTaggedFields } from '@platformatic/kafka';
import { errorText } from './broker-refusal.ts';
import { BatchReading, type RecordBatch, readRecordBatches } from './record-batch.ts';

export interface FetchPartition {
  topicId: string;
  partition: number;
  offset: number;
  /** The epoch of the leader, as far as we know. A broker that knows another epoch answers with an error. */
  leaderEpoch: number;
  /** The epoch of the batch before `offset`, or -1. If the leader's log ended that epoch sooner, it answers `diverging`. */
  lastEpoch: number;
}

/** What a response says about a partition. */
interface ResponsePartition {
  partition: number;
  /** Kafka's error code. 0 for none. */
  errorCode: number;
  /** Why the batches cannot be read. They are to be fetched again. */
  fault: Error | null;
  batches: RecordBatch[];
  /** The offset after the last record, including open transactions. */
  highWatermark: number;
  /** Where the first open transaction begins, else the high watermark. A `read_committed` consumer gets no further. */
  lastStableOffset: number;
  /** The log lost records that we have read, and may have others in their place (KIP-595). */
  diverging: boolean;
}

/** Its batches are those that a `read_committed` consumer sees. `recordPieces` unpacks their records. */
export interface FetchedPartition extends ResponsePartition {
  topicId: string;
  /** The offset that was requested. */
  offset: number;
  nextOffset: number;
  /** The epoch of the last batch. Without batches: the `lastEpoch` of the request. */
  lastEpoch: number;
}

const readCommitted = 1;
// Sizes as compressed. A few responses are in memory at a time. Kafka exceeds them for a single batch that is larger.
const partitionBytesMax = 256 << 10;
const responseBytesMax = 1 << 20;

/** Asks a broker for records, at most 1 MB unless one batch is larger. It waits up to `waitMs` if there are none. */
export function requestFetch(
  connection: Connection,
  partitions: readonly FetchPartition[],
  waitMs: number,
): Promise<FetchResponse> {
  const byTopic = Map.groupBy(partitions, ({ topicId }) => topicId);
  const asked = [...byTopic].map(([topicId, list]) => ({ topicId, partitions: list.map(partitionRequest) }));
  // Session 0, epoch -1: no fetch session. Every request names everything it wants.
  return fetchApi.async(connection, waitMs, 1, responseBytesMax, readCommitted, 0, -1, asked, [], '');
}

/** What a response says about each partition that was asked for. */
export function fetchedPartitions(
  asked: readonly FetchPartition[],
  { errorCode, responses }: FetchResponse,
): FetchedPartition[] {
  if (errorCode !== 0) throw new Error(`Cannot fetch: ${errorText(errorCode)}`);
  const from = new Map(asked.map((one) => [`${one.topicId}/${one.partition}`, one]));
  return responses.flatMap(({ topicId, partitions }) =>
    partitions.flatMap(({ abortedTransactions, ...found }): FetchedPartition[] => {
      const one = from.get(`${topicId}/${found.partition}`);
      if (one === undefined) return [];
      const { offset, lastEpoch } = one;
      const committed = committedBatches(found.batches, abortedTransactions, offset);
      return [{ ...found, topicId, offset, ...committed, lastEpoch: found.batches.at(-1)?.leaderEpoch ?? lastEpoch }];
    }),
  );
}

const partitionRequest = ({ partition, offset, leaderEpoch, lastEpoch }: FetchPartition) => ({
  partition,
  currentLeaderEpoch: leaderEpoch,
  fetchOffset: BigInt(offset),
  lastFetchedEpoch: lastEpoch,
  partitionMaxBytes: partitionBytesMax,
});

/*
  Fetch Response (Version: 13) => throttle_time_ms error_code session_id [responses] TAG_BUFFER
    responses => topic_id [partitions] TAG_BUFFER
      partitions => partition_index error_code high_watermark last_stable_offset log_start_offset
                    [aborted_transactions] preferred_read_replica records TAG_BUFFER
        aborted_transactions => producer_id first_offset TAG_BUFFER
        tagged field 0 => diverging_epoch: epoch end_offset
*/

interface FetchResponse {
  errorCode: number;
  responses: {
    topicId: string;
    partitions: (ResponsePartition & { abortedTransactions: AbortedTransaction[] })[];
  }[];
}

/** Kafka's fetch request, whose response is read here for its records (record-batch.ts). Error codes are in it. */
const fetchApi = createAPI<Parameters<typeof fetchV13.createRequest>, FetchResponse>(
  1,
  13,
  fetchV13.createRequest,
  (_correlationId, _apiKey, _apiVersion, reader) => readResponse(reader),
);

function readResponse(reader: Reader): FetchResponse {
  reader.readInt32();
  const errorCode = reader.readInt16();
  reader.readInt32();
  const responses = reader.readArray((r) => ({
    topicId: r.readUUID(),
    partitions: r.readArray(readPartition, true, false)!,
  }));
  readKnownTaggedFields(reader, {});
  return { errorCode, responses: responses! };
}

function readPartition(r: Reader) {
  const partition = {
    partition: r.readInt32(),
    errorCode: r.readInt16(),
    highWatermark: Number(r.readInt64()),
    lastStableOffset: Number(r.readInt64()),
    abortedTransactions: [] as AbortedTransaction[],
    batches: [] as RecordBatch[],
    fault: null as Error | null,
    diverging: false,
  };
  r.readInt64();
  partition.abortedTransactions =
    r.readNullableArray((one) => ({ producerId: one.readInt64(), firstOffset: one.readInt64() })) ?? [];
  r.readInt32();
  // One more than their length; 0 for none.
  const size = r.readUnsignedVarInt() - 1;
  if (size > 0) {
    try {
      partition.batches = readRecordBatches(r.buffer.slice(r.position, r.position + size));
    } catch (error) {
      partition.fault = error as Error;
    }
    r.skip(size);
  }
  readKnownTaggedFields(r, {
    0: (field) => {
      field.readInt32();
      partition.diverging = field.readInt64() >= 0n;
    },
  });
  return partition;
}

const transactionalBit = 1 << 4;
const controlBit = 1 << 5;

/** An aborted transaction and the first offset that it wrote: `aborted_transactions` of a fetch response. */
interface AbortedTransaction {
  producerId: bigint;
  firstOffset: bigint;
}

/**
 * The batches that a `read_committed` consumer sees, and the next offset to fetch. That is the end of the last batch by
 * its header, so it is past control records, aborted transactions and records that compaction removed from a batch's end.
 *
 * Aborted batches are found as in the Java client: a producer's batches are aborted from the transaction's first offset
 * to its abort marker.
 */
export function committedBatches(
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
  from: number,
): { batches: RecordBatch[]; nextOffset: number } {
  const pending = [...aborted].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  const aborting = new Set<bigint>();
  const seen: RecordBatch[] = [];
  let nextOffset = from;
  for (const batch of batches) {
    const { lastOffset } = batch;
    while (pending.length && Number(pending[0]!.firstOffset) <= lastOffset) aborting.add(pending.shift()!.producerId);
    if (batch.attributes & controlBit) {
      if (isAbortMarker(batch)) aborting.delete(batch.producerId);
    } else if (!(batch.attributes & transactionalBit && aborting.has(batch.producerId))) seen.push(batch);
    nextOffset = lastOffset + 1;
  }
  return { batches: seen, nextOffset };
}

/** The key of a control record: int16 version, int16 type. Type 0 aborts, 1 commits. */
function isAbortMarker(batch: RecordBatch): boolean {
  const key = new BatchReading(batch).next()?.key;
  return !!key && key.length >= 4 && key.readInt16BE(2) === 0;
}
