import { zstdCompressSync } from 'node:zlib';
import { readRecordBatches, recordPieces } from '../../../../infra/kafka/protocol/record-batch.ts';
import { batchOf, packedBatch } from './batches.ts';

/** A process that unpacks one answer of Kafka as the fetcher does, and prints how many records it holds and how much memory that took. */

// length, attributes, timestampDelta, offsetDelta, no key, no value, no headers
const tiny = Buffer.from([12, 0, 0, 0, 1, 1, 0]);
const tinyCount = 7_000_000;

function largeBatches(): Buffer {
  const one = batchOf([{ key: Buffer.from('k'), value: Buffer.alloc(63 << 20) }], 'zstd');
  const each = Array.from({ length: 12 }, (_, offset) => {
    const batch = Buffer.from(one);
    batch.writeBigInt64BE(BigInt(offset), 0);
    return batch;
  });
  return Buffer.concat(each);
}

const fetched =
  process.argv[2] === 'large'
    ? largeBatches()
    : packedBatch(zstdCompressSync(Buffer.alloc(tinyCount * tiny.length, tiny)), 4, tinyCount);

let records = 0;
for (const piece of recordPieces(readRecordBatches(fetched), 0, 0)) {
  records += piece.records.length;
  // As between two batches of the log.
  await new Promise(setImmediate);
}
console.log(JSON.stringify({ records, mebibytes: process.resourceUsage().maxRSS / 1024 }));
