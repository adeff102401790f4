import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PartitionerCheck } from '../../../projector/intake/partitioner-check.ts';
import type { EncodedRecord, LogBounds } from '../../../projector/ports/event-log.ts';
import { type ExplainedRecords, noMetrics } from '../../../projector/ports/metrics.ts';
import { crc32Partition, murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

// docs/rules.md#one-partition-per-key

type Chooser = (key: Buffer, partitions: number) => number;
const count = 4;

/** A check of topics of so many partitions, with what it counted and said. */
function checking(partitions = count) {
  const bounds = Object.fromEntries(
    topicNames.map((topic) => [topic, Array.from({ length: partitions }, () => ({ low: 0, end: 0 }))]),
  ) as LogBounds;
  const warnings: string[] = [];
  const explained: ExplainedRecords = { records: 0, murmur2: 0, crc32: 0, neither: 0 };
  const check = new PartitionerCheck(bounds, {
    log: { info() {}, warn: (message) => void warnings.push(message), error() {} },
    metrics: {
      ...noMetrics,
      partitionExplained(_, more) {
        for (const name of Object.keys(explained) as (keyof ExplainedRecords)[]) explained[name] += more[name];
      },
    },
  });
  const take = (partition: number, records: EncodedRecord[], topic: TopicName = 'relations'): void =>
    check.take({ topic, partition, records, nextOffset: 0 });
  return { check, warnings, explained, take };
}

/** A relation, or its tombstone. */
function relation(i: number, choose: Chooser): { partition: number; record: EncodedRecord } {
  const value = { ...sampleRecords.relations, rider: `r${i}`, other: 'ö' };
  const key = `${value.rider}/${value.other}`;
  const partition = choose(Buffer.from(key), count);
  const placed = { topic: 'relations', key, partition, offset: 0, timestampMs: 7 } as const;
  return { partition, record: toLogRecord({ ...placed, value: i % 3 === 0 ? null : value }) };
}

const byNeither: Chooser = (key, partitions) => {
  const others = [murmur2Partition(key, partitions), crc32Partition(key, partitions)];
  return [0, 1, 2].find((partition) => !others.includes(partition))!;
};

// P29
it('a topic is warned of, once, exactly where neither kind of producer explains all its keys, when the log is folded or soon after', () => {
  const choosers = [murmur2Partition, crc32Partition, byNeither];
  const runs = fc.array(fc.record({ kind: fc.nat(2), length: fc.integer({ min: 1, max: 20 }) }), { maxLength: 4 });
  const words =
    /^Keys of relations may be in two of its 4 partitions, .* murmur2 .* of \d+ of \d+ records, CRC32 .* of \d+ of \d+;/;
  fc.assert(
    fc.property(runs, fc.nat(1000), fc.boolean(), (list, from, isFolded) => {
      const { check, warnings, explained, take } = checking();
      const missed = { murmur2: 0, crc32: 0, both: 0 };
      const wanted = () => (missed.murmur2 > 0 && missed.crc32 > 0 ? [expect.stringMatching(words)] : []);
      // From then on it warns at once.
      if (isFolded) check.warn();
      let next = from;
      for (const { kind, length } of list) {
        for (let i = 0; i < length; i++) {
          const { partition, record } = relation(next++, choosers[kind]!);
          const key = Buffer.from(`r${next - 1}/ö`);
          const wrong = [murmur2Partition, crc32Partition].map((choose) => choose(key, count) !== partition);
          missed.murmur2 += Number(wrong[0]);
          missed.crc32 += Number(wrong[1]);
          missed.both += Number(wrong[0] && wrong[1]);
          take(partition, [record]);
          expect(warnings).toEqual(isFolded ? wanted() : []);
        }
      }
      check.warn();
      expect(warnings).toEqual(wanted());
      expect(explained.murmur2).toBe(explained.records - missed.murmur2);
      expect(explained.neither).toBe(missed.both);
      // Where CRC32 explains all, it is asked every time.
      if (missed.crc32 === 0) expect(explained.crc32).toBe(explained.records);
    }),
    { numRuns: 500 },
  );
});

it('a record is explained by both in a topic of one partition, without a key, or with an empty one', () => {
  const bare = (key: Buffer | null): EncodedRecord => ({
    ...{ topic: 'relations', partition: 3, offset: 0, timestampMs: 7 },
    ...{ keyBytes: key, valueBytes: null, decoder: null },
    raw: () => ({ key, value: null, headers: {} }),
  });
  const one = checking(1);
  one.take(0, [relation(1, () => 0).record]);
  const four = checking();
  four.take(3, [bare(null), bare(Buffer.alloc(0))]);
  expect([one.explained, four.explained]).toMatchObject([
    { records: 1, murmur2: 1, crc32: 1, neither: 0 },
    { records: 2, murmur2: 2, crc32: 2, neither: 0 },
  ]);
});
