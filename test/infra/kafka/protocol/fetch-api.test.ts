import { describe, expect, test } from 'vitest';
import { committedBatches } from '../../../../infra/kafka/protocol/fetch-api.ts';
import { type RecordBatch, readRecordBatches } from '../../../../infra/kafka/protocol/record-batch.ts';
import { batchOf, recordsOf } from './batches.ts';

const control = 1 << 5;
const transactional = 1 << 4;

/** A batch of records at the given offsets; `end` where its header says that it ended further on. */
function batch(
  offsets: number[],
  { attributes = 0, producer = -1, first = offsets[0] ?? 0, end = offsets.at(-1) ?? 0, key = '' } = {},
): RecordBatch {
  // What compaction emptied is no batch that the client library writes.
  const records = Array(offsets.length || 1).fill({ key: Buffer.from(key, 'hex'), value: null });
  const [read] = readRecordBatches(batchOf(records, 'none', first));
  return { ...read!, lastOffset: end, attributes, producerId: BigInt(producer) };
}

const abortMarker = (offset: number, producer: number) =>
  batch([offset], { attributes: control | transactional, producer, key: '00000000' });
const commitMarker = (offset: number, producer: number) =>
  batch([offset], { attributes: control | transactional, producer, key: '00000001' });
const written = (offsets: number[], producer: number) => batch(offsets, { attributes: transactional, producer });
const offsetsOf = (batches: RecordBatch[], aborted: [producer: number, first: number][]) => {
  const transactions = aborted.map(([id, first]) => ({ producerId: BigInt(id), firstOffset: BigInt(first) }));
  return recordsOf(committedBatches(batches, transactions, 0).batches).map(({ offset }) => offset);
};

describe('the offset to read next', () => {
  test('is the end of the last batch by its header, though its last records were compacted away', () => {
    expect(committedBatches([batch([3, 5], { first: 2, end: 9 })], [], 2).nextOffset).toBe(10);
  });

  test('passes a batch that compaction emptied', () => {
    expect(committedBatches([batch([], { first: 4, end: 7 })], [], 4).nextOffset).toBe(8);
  });

  test('passes control records', () => {
    expect(committedBatches([commitMarker(4, 1)], [], 4)).toEqual({ batches: [], nextOffset: 5 });
  });

  test('stays where nothing was fetched', () => {
    expect(committedBatches([], [], 4)).toEqual({ batches: [], nextOffset: 4 });
  });
});

describe('the records', () => {
  test('of an aborted transaction are left out, those of the same producer before and after it are not', () => {
    const batches = [
      written([0], 1),
      commitMarker(1, 1),
      written([2], 1),
      abortMarker(3, 1),
      written([4], 1),
      commitMarker(5, 1),
    ];
    expect(offsetsOf(batches, [[1, 2]])).toEqual([0, 4]);
  });

  test('of two aborted transactions of one producer are left out, in whatever order they are named', () => {
    const batches = [written([0], 1), abortMarker(1, 1), written([2], 1), abortMarker(3, 1), written([4], 1)];
    expect(
      offsetsOf(batches, [
        [1, 2],
        [1, 0],
      ]),
    ).toEqual([4]);
  });

  test('of an aborted transaction whose marker comes in a later fetch are left out', () => {
    expect(offsetsOf([written([0, 1], 1), written([2], 2)], [[1, 0]])).toEqual([2]);
  });

  test('of an aborted transaction that began before the fetch are left out', () => {
    expect(offsetsOf([written([7], 1), abortMarker(8, 1), batch([9])], [[1, 3]])).toEqual([9]);
  });

  test('of other producers between an aborted transaction and its marker are kept', () => {
    expect(offsetsOf([written([0], 1), batch([1]), written([2], 2), abortMarker(3, 1)], [[1, 0]])).toEqual([1, 2]);
  });
});
