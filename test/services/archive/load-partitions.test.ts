import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defaultPartitioners, type Partitioner, partitionFor } from '../../../schemas/events/partitioner.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import type { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { emptyLog, load, startMs } from '../../support/worlds/archive-load.ts';
import { rider } from '../../support/worlds/records.ts';

interface Change {
  key: string;
  /** Null: a tombstone. */
  name: string | null;
  ms: number;
  partition: number;
}

/** An archive of changes to riders, each in its partition. */
async function archiveOfChanges(partitions: number, changes: readonly Change[]): Promise<TestArchive> {
  const archive = await TestArchive.make(partitions);
  const records = changes.map(({ key, name, ms, partition }) => {
    const one = rider(key, startMs + ms);
    return { topic: 'riders' as const, ...one, value: name === null ? null : { ...one.value, name }, partition };
  });
  await archive.write(records);
  return archive;
}

const of = (partitioner: Partitioner, key: string, partitions: number): number =>
  partitionFor(partitioner, Buffer.from(key), partitions)!;
const declared = (one: Partitioner) => ({ partitioners: byTopic(() => one), givenPartitioners: byTopic(() => one) });

/** Riders whose partition both partitioners agree on never show which one was used. */
const keys = Array.from({ length: 40 }, (_, i) => `r${i}`).filter(
  (key) => of('murmur2', key, 4) !== of('crc32', key, 4) && of('murmur2', key, 2) !== of('crc32', key, 2),
);
const changesBy = (partitioner: Partitioner, partitions = 4): Change[] =>
  keys.map((key, ms) => ({ key, name: 'x', ms, partition: of(partitioner, key, partitions) }));

/** By key: the partition of its records, and their number if that is not one. */
function partitionsOf({ records }: MemoryEventLog) {
  const found: Record<string, string> = {};
  for (const { topic, partition, keyBytes } of records)
    if (topic === 'riders') found[String(keyBytes)] = `${found[String(keyBytes)] ?? ''}${partition}`;
  return found;
}
const wantedOf = (one: Partitioner, partitions: number) =>
  Object.fromEntries(keys.map((key) => [key, String(of(one, key, partitions))]));

// docs/rules.md#archive-load-partitions

test('archive load into as many partitions keeps each record’s own, whatever the setting; also with --append', async () => {
  const later = { key: keys[0]!, name: 'later', ms: 99, partition: of('crc32', keys[0]!, 4) };
  await using archive = await archiveOfChanges(4, changesBy('crc32'));
  await using grown = await archiveOfChanges(4, [...changesBy('crc32'), later]);
  for (const setting of ['murmur2', 'other'] as const) {
    const log = emptyLog(4);
    expect(await load(archive.dir, log, declared(setting))).toMatchObject({ records: keys.length });
    expect(partitionsOf(log)).toEqual(wantedOf('crc32', 4));
    expect(await load(grown.dir, log, { ...declared(setting), append: true })).toMatchObject({ records: 1 });
    expect(partitionsOf(log)[keys[0]!]).toBe(String(later.partition).repeat(2));
  }
});

test('archive load into another number goes by the setting, and refuses an archive of which one record is misplaced', async () => {
  await using archive = await archiveOfChanges(4, changesBy('crc32'));
  for (const append of [false, true]) {
    const log = emptyLog(2);
    const words = `^Cannot load the archive: ${keys.length} misplaced records of riders, the first at riders/\\d@0: murmur2 .*; murmur2 explains 0 % of its records, crc32 100 %\\. Set KAFKA_PARTITIONER .* \\(riders: 4\\); .* --repartition$`;
    await expect(load(archive.dir, log, { ...declared('murmur2'), append })).rejects.toThrow(new RegExp(words));
    expect(log.records).toEqual([]);
    await load(archive.dir, log, { ...declared('crc32'), append });
    expect(partitionsOf(log)).toEqual(wantedOf('crc32', 2));
  }
  // One record of many: no share is rounded up to all.
  const [first, ...rest] = changesBy('murmur2');
  await using nearly = await archiveOfChanges(4, [{ ...first!, partition: of('crc32', first!.key, 4) }, ...rest]);
  const words =
    /^Cannot load the archive: 1 misplaced record of riders, .* murmur2 explains 9\d % of its records, crc32 \d %/;
  await expect(load(nearly.dir, emptyLog(2), declared('murmur2'))).rejects.toThrow(words);
});

test('archive load of one partition wants the setting, and does not know where keys go by other', async () => {
  await using archive = await archiveOfChanges(1, changesBy('murmur2', 1));
  const log = emptyLog(4);
  const undeclared = { partitioners: defaultPartitioners, givenPartitioners: { rides: 'murmur2' } } as const;
  await expect(load(archive.dir, log, undeclared)).rejects.toThrow(
    'Cannot load the archive: riders has one partition, which does not show how its producers choose among 4: set KAFKA_PARTITIONER',
  );
  for (const repartition of [false, true])
    await expect(load(archive.dir, log, { ...declared('other'), repartition })).rejects.toThrow(
      'KAFKA_PARTITIONER is other for riders',
    );
  await load(archive.dir, log, declared('crc32'));
  expect(partitionsOf(log)).toEqual(wantedOf('crc32', 4));
  // Into one partition nothing is to be known.
  await load(archive.dir, emptyLog(1), undeclared);
});

const changesArb = (partitions: number) =>
  fc.array(
    fc.record({
      key: fc.constantFrom(...keys.slice(0, 4)),
      name: fc.option(fc.constantFrom('a', 'b', 'c')),
      ms: fc.nat(8),
      partition: fc.nat(partitions - 1),
    }),
    { maxLength: 24 },
  );

test('archive load --repartition has each key in one partition, its records in the order of their times, then of their places; ties are named', async () => {
  await fc.assert(
    fc.asyncProperty(changesArb(3), fc.constantFrom(1, 2, 3), async (changes, partitions) => {
      await using archive = await archiveOfChanges(3, changes);
      const log = emptyLog(partitions);
      const { tied, records } = await load(archive.dir, log, { ...declared('crc32'), repartition: true });
      expect(records).toBe(changes.length);
      const inOrder = changes.toSorted((a, b) => a.ms - b.ms || a.partition - b.partition);
      const wantedTies: string[] = [];
      for (const key of keys.slice(0, 4)) {
        const own = inOrder.filter((one) => one.key === key);
        const got = log.records.filter(({ keyBytes }) => String(keyBytes) === key);
        expect(
          got.map(({ timestampMs, valueBytes, partition }) => ({
            ms: Number(timestampMs) - startMs,
            name: valueBytes && nameIn(valueBytes),
            partition,
          })),
        ).toEqual(own.map(({ ms, name }) => ({ ms, name, partition: of('crc32', key, partitions) })));
        if (own.length > 1 && own.at(-1)!.ms === own.at(-2)!.ms) wantedTies.push(`riders/${key}`);
      }
      expect(tied.toSorted()).toEqual(wantedTies.toSorted());
    }),
    { numRuns: 10, endOnFailure: true },
  );
});

/** The name in a published rider, which is one letter. */
const nameIn = (value: Buffer): string => /[abc]$/.exec(value.toString('latin1').replace(/[^a-z]/g, ''))?.[0] ?? '?';

/** The last record of each key, in each partition, as it shows. */
const lastOf = (log: MemoryEventLog) =>
  new Map(
    log.records
      .filter(({ topic }) => topic === 'riders')
      .map(({ partition, keyBytes, valueBytes }) => [`${partition} ${keyBytes}`, String(valueBytes?.toString('hex'))]),
  );

// A record is late if one before it of its partition has a later time.
test.each([
  ['into as many partitions', 3, false],
  ['into another number', 2, false],
  ['with --repartition', 3, true],
])(
  'archive load --append %s goes on with a load that was killed anywhere, late records or not, and ends as a whole one',
  async (_, partitions, repartition) => {
    const options = { ...declared('crc32'), repartition };
    await fc.assert(
      fc.asyncProperty(changesArb(3), fc.array(fc.nat(24), { minLength: 2, maxLength: 4 }), async (made, kills) => {
        // Only a load that keeps partitions, or puts keys together, takes a key that is in two.
        const changes = made.map((one) => (partitions === 3 ? one : { ...one, partition: of('crc32', one.key, 3) }));
        await using archive = await archiveOfChanges(3, changes);
        const whole = emptyLog(partitions);
        await load(archive.dir, whole, options);
        const log = emptyLog(partitions, 7);
        for (const left of kills) {
          log.dieAfter(left);
          const stopped = load(archive.dir, log, { ...options, append: log.records.length > 0 });
          await stopped.catch((error) => expect(error.message).toBe('killed'));
          log.compact((offset) => offset % 2 === 0);
        }
        log.dieAfter(Number.POSITIVE_INFINITY);
        await load(archive.dir, log, { ...options, append: true });
        expect(lastOf(log)).toEqual(lastOf(whole));
        expect(await load(archive.dir, log, { ...options, append: true })).toMatchObject({ records: 0, newer: [] });
      }),
      { numRuns: 8, endOnFailure: true },
    );
  },
);
