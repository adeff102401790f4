import type { RecordsBatch } from '@platformatic/kafka';

/** A fetched record. Its buffers are slices of the whole response: copy what is to be kept. */
export interface FetchedRecord {
  offset: number;
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: readonly (readonly [Buffer | null, Buffer | null])[];
}

const timestampTypeBit = 1 << 3;
const transactionalBit = 1 << 4;
const controlBit = 1 << 5;

/** An aborted transaction and the first offset that it wrote: `aborted_transactions` of a fetch response. */
export interface AbortedTransaction {
  producerId: bigint;
  firstOffset: bigint;
}

/**
 * The records from offset `from` on that a `read_committed` reader sees, and the next offset to read. That is the end
 * of the last batch by its header, so it is past control records, aborted transactions and records that compaction
 * removed from a batch's end.
 *
 * Aborted batches are found as in the Java client: a producer's batches are aborted from the transaction's first offset
 * to its abort marker.
 */
export function committedRecords(
  batches: readonly RecordsBatch[],
  aborted: readonly AbortedTransaction[],
  from: number,
): { records: FetchedRecord[]; nextOffset: number } {
  const pending = [...aborted].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  const aborting = new Set<bigint>();
  const records: FetchedRecord[] = [];
  let nextOffset = from;
  for (const batch of batches) {
    const lastOffset = Number(batch.firstOffset) + batch.lastOffsetDelta;
    while (pending.length && Number(pending[0]!.firstOffset) <= lastOffset) aborting.add(pending.shift()!.producerId);
    if (batch.attributes & controlBit) {
      if (isAbortMarker(batch)) aborting.delete(batch.producerId);
    } else if (!(batch.attributes & transactionalBit && aborting.has(batch.producerId))) {
      addRecords(records, batch, from);
    }
    nextOffset = Math.max(nextOffset, lastOffset + 1);
  }
  return { records, nextOffset };
}

/** The key of a control record: int16 version, int16 type. Type 0 aborts, 1 commits. */
function isAbortMarker(batch: RecordsBatch): boolean {
  const key = batch.records[0]?.key;
  return !!key && key.length >= 4 && key.readInt16BE(2) === 0;
}

function addRecords(records: FetchedRecord[], batch: RecordsBatch, from: number): void {
  const firstOffset = Number(batch.firstOffset);
  const firstTimestamp = Number(batch.firstTimestamp);
  // message.timestamp.type=LogAppendTime: the broker's time, one for the whole batch.
  const appendTimeMs = batch.attributes & timestampTypeBit ? Number(batch.maxTimestamp) : null;
  for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
    const offset = firstOffset + offsetDelta;
    // Fetches return whole batches, so the first one may begin before the requested offset.
    if (offset < from) continue;
    records.push({ offset, timestampMs: appendTimeMs ?? firstTimestamp + Number(timestampDelta), key, value, headers });
  }
}
