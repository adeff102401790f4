import { describe, expect, test } from 'vitest';
import { committedRecords } from '../../../infra/kafka/fetch-api.ts';
import type { RecordBatch } from '../../../infra/kafka/record-batch.ts';

const control = 1 << 5;
const transactional = 1 << 4;

/** A batch of records at the given offsets; `end` where its header says that it ended further on. */
function batch(
  offsets: number[],
  { attributes = 0, producer = -1, first = offsets[0] ?? 0, end = offsets.at(-1) ?? 0, key = '' } = {},
): RecordBatch {
  return {
    firstOffset: first,
    lastOffset: end,
    leaderEpoch: 0,
    attributes,
    producerId: BigInt(producer),
    records: offsets.map((offset) => ({
      offset,
      timestampMs: 0,
      key: key ? Buffer.from(key, 'hex') : Buffer.from(`k${offset}`),
      value: null,
      headers: [],
    })),
  };
}

const abortMarker = (offset: number, producer: number) =>
  batch([offset], { attributes: control | transactional, producer, key: '00000000' });
const commitMarker = (offset: number, producer: number) =>
  batch([offset], { attributes: control | transactional, producer, key: '00000001' });
const written = (offsets: number[], producer: number) => batch(offsets, { attributes: transactional, producer });
const offsetsOf = (batches: RecordBatch[], aborted: [producer: number, first: number][], from = 0) =>
  committedRecords(
    batches,
    aborted.map(([producerId, firstOffset]) => ({ producerId: BigInt(producerId), firstOffset: BigInt(firstOffset) })),
    from,
  ).records.map(({ offset }) => offset);

describe('the offset to read next', () => {
  test('is the end of the last batch by its header, though its last records were compacted away', () => {
    expect(committedRecords([batch([3, 5], { first: 2, end: 9 })], [], 2).nextOffset).toBe(10);
  });

  test('passes a batch that compaction emptied', () => {
    expect(committedRecords([batch([], { first: 4, end: 7 })], [], 4)).toEqual({ records: [], nextOffset: 8 });
  });

  test('passes control records', () => {
    expect(committedRecords([commitMarker(4, 1)], [], 4)).toEqual({ records: [], nextOffset: 5 });
  });

  test('stays where nothing was fetched', () => {
    expect(committedRecords([], [], 4)).toEqual({ records: [], nextOffset: 4 });
  });
});

describe('the records', () => {
  test('before the offset asked for are left out: a batch is the unit of a fetch', () => {
    expect(offsetsOf([batch([2, 3, 4])], [], 3)).toEqual([3, 4]);
  });

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
    expect(offsetsOf([written([7], 1), abortMarker(8, 1), batch([9])], [[1, 3]], 7)).toEqual([9]);
  });

  test('of other producers between an aborted transaction and its marker are kept', () => {
    expect(offsetsOf([written([0], 1), batch([1]), written([2], 2), abortMarker(3, 1)], [[1, 0]])).toEqual([1, 2]);
  });
});
