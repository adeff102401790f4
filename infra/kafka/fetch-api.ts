import { createAPI, fetchV13, type Reader, readKnownTaggedFields } from '@platformatic/kafka';
import type { AbortedTransaction } from './kafka-record-batches.ts';
import { type RecordBatch, readRecordBatches } from './record-batch.ts';

/*
  Fetch Response (Version: 13) => throttle_time_ms error_code session_id [responses] TAG_BUFFER
    responses => topic_id [partitions] TAG_BUFFER
      partitions => partition_index error_code high_watermark last_stable_offset log_start_offset
                    [aborted_transactions] preferred_read_replica records TAG_BUFFER
        aborted_transactions => producer_id first_offset TAG_BUFFER
        tagged field 0 => diverging_epoch: epoch end_offset
*/

export interface FetchResponse {
  errorCode: number;
  responses: { topicId: string; partitions: FetchResponsePartition[] }[];
}

export interface FetchResponsePartition {
  partitionIndex: number;
  errorCode: number;
  highWatermark: number;
  lastStableOffset: number;
  abortedTransactions: AbortedTransaction[];
  batches: RecordBatch[];
  /** Where the log that the leader has ends in an epoch that was read further; -1 where it does not. */
  divergesAt: number;
}

/**
 * Kafka's fetch request as the client library makes it. The response is read here, for the sake of its records
 * (record-batch.ts). Error codes are in the response, and are not thrown.
 */
export const fetchApi = createAPI<Parameters<typeof fetchV13.createRequest>, FetchResponse>(
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

function readPartition(r: Reader): FetchResponsePartition {
  const partition: FetchResponsePartition = {
    partitionIndex: r.readInt32(),
    errorCode: r.readInt16(),
    highWatermark: Number(r.readInt64()),
    lastStableOffset: Number(r.readInt64()),
    abortedTransactions: [],
    batches: [],
    divergesAt: -1,
  };
  r.readInt64();
  partition.abortedTransactions =
    r.readNullableArray((one) => ({ producerId: one.readInt64(), firstOffset: one.readInt64() })) ?? [];
  r.readInt32();
  // One more than their length; 0 for none.
  const size = r.readUnsignedVarInt() - 1;
  if (size > 0) {
    partition.batches = readRecordBatches(r.buffer.slice(r.position, r.position + size));
    r.skip(size);
  }
  readKnownTaggedFields(r, {
    0: (field) => {
      field.readInt32();
      partition.divergesAt = Number(field.readInt64());
    },
  });
  return partition;
}
