import { expect, test } from 'vitest';
import { committedBatches } from '../../../../infra/kafka/protocol/fetch-api.ts';
import { type RecordBatch, readRecordBatches } from '../../../../infra/kafka/protocol/record-batch.ts';
import { batchOf, recordsOf } from './batches.ts';

const control = 1 << 5;
const transactional = 1 << 4;

/** A batch of one record. `end`: the last offset by its header, if compaction removed more. */
function batch(offset: number, { attributes = 0, producer = -1, end = offset, key = '' } = {}): RecordBatch {
  const [read] = readRecordBatches(batchOf([{ key: Buffer.from(key, 'hex'), value: null }], 'none', offset));
  return { ...read!, lastOffset: end, attributes, producerId: BigInt(producer) };
}

const written = (offset: number, producer: number) => batch(offset, { attributes: transactional, producer });
const marker = (key: string) => (offset: number, producer: number) =>
  batch(offset, { attributes: control | transactional, producer, key });
const [aborts, commits] = [marker('00000000'), marker('00000001')];
const twice = [written(0, 1), aborts(1, 1), written(2, 1), aborts(3, 1), written(4, 1)];
const between = [written(0, 1), commits(1, 1), written(2, 1), aborts(3, 1), written(4, 1), commits(5, 1)];

type Aborted = [producer: number, firstOffset: number];

test.each<[what: string, RecordBatch[], Aborted[], offsets: number[], nextOffset: number]>([
  ['nothing: the next offset stays', [], [], [], 0],
  ['a batch whose last records were compacted away: its end is by its header', [batch(2, { end: 9 })], [], [2], 10],
  ['a control record: it is passed', [commits(4, 1)], [], [], 5],
  ['an aborted transaction between others of its producer', between, [[1, 2]], [0, 4], 6],
  ['two aborted ones of one producer, named in any order', twice, [2, 0].map((first) => [1, first]), [4], 5],
  ['one whose marker comes in a later fetch', [written(0, 1), written(1, 1), written(2, 2)], [[1, 0]], [2], 3],
  ['one that began before the fetch', [written(7, 1), aborts(8, 1), batch(9)], [[1, 3]], [9], 10],
  ['others before its marker', [written(0, 1), batch(1), written(2, 2), aborts(3, 1)], [[1, 0]], [1, 2], 4],
])('of %s', (_, batches, aborted, offsets, nextOffset) => {
  const transactions = aborted.map(([id, first]) => ({ producerId: BigInt(id), firstOffset: BigInt(first) }));
  const committed = committedBatches(batches, transactions, 0);
  expect(recordsOf(committed.batches).map(({ offset }) => offset)).toEqual(offsets);
  expect(committed.nextOffset).toBe(nextOffset);
});
