import type { FetchedRecord, RecordBatch } from './record-batch.ts';

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
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
  from: number,
): { records: FetchedRecord[]; nextOffset: number } {
  const pending = [...aborted].sort((a, b) => Number(a.firstOffset - b.firstOffset));
  const aborting = new Set<bigint>();
  const records: FetchedRecord[] = [];
  let nextOffset = from;
  for (const batch of batches) {
    const { lastOffset } = batch;
    while (pending.length && Number(pending[0]!.firstOffset) <= lastOffset) aborting.add(pending.shift()!.producerId);
    if (batch.attributes & controlBit) {
      if (isAbortMarker(batch)) aborting.delete(batch.producerId);
    } else if (!(batch.attributes & transactionalBit && aborting.has(batch.producerId))) {
      // Fetches return whole batches, so the first one may begin before the requested offset.
      for (const record of batch.records) if (record.offset >= from) records.push(record);
    }
    nextOffset = Math.max(nextOffset, lastOffset + 1);
  }
  return { records, nextOffset };
}

/** The key of a control record: int16 version, int16 type. Type 0 aborts, 1 commits. */
function isAbortMarker(batch: RecordBatch): boolean {
  const key = batch.records[0]?.key;
  return !!key && key.length >= 4 && key.readInt16BE(2) === 0;
}
