import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ContainerFile, openContainer } from '../../../../infra/archive/format/avro-container.ts';
import type { LogRecord } from '../../../../projector/ports/decoded-record.ts';
import { archivedSchemas } from '../../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../../schemas/events/records.ts';
import { TestArchive, writerIn } from '../../../support/worlds/archive.ts';
import { arbitraryRecords, rider } from '../../../support/worlds/records.ts';

const riderAt = (offset: number) => ({ partition: 0, offset, ...rider(`r${offset}`) });
const offsets = async (archive: TestArchive) => (await archive.read()).records.map(({ offset }) => offset);

describe('what is written', () => {
  test('any records of any topics come back as they were', async () => {
    const records = fc.array(
      fc.constantFrom(...topicNames).chain((topic) =>
        fc.record({
          topic: fc.constant(topic),
          partition: fc.nat(2),
          timestampMs: fc.maxSafeNat(),
          key: fc.string({ unit: 'grapheme' }),
          value: fc.option(arbitraryRecords[topic] as fc.Arbitrary<never>, { nil: null }),
        }),
      ),
      { maxLength: 60 },
    );
    const options = fc.record({
      blockBytes: fc.integer({ min: 1, max: 2_000 }),
      fileBytes: fc.integer({ min: 1, max: 5_000 }),
    });
    await fc.assert(
      fc.asyncProperty(records, options, fc.nat(60), async (list, how, restartAt) => {
        await using archive = await TestArchive.make();
        let writer = await writerIn(archive.dir, how);
        for (const [index, { topic, ...record }] of list.entries()) {
          if (index === restartAt) {
            await writer.close();
            writer = await writerIn(archive.dir, how);
          }
          writer.append(topic, { offset: index, ...record });
        }
        await writer.close();
        if (list.length === 0) return;
        const read = (await archive.read()).records as LogRecord[];
        const plain = ({ topic, partition, timestampMs, key, value }: LogRecord) => ({
          ...{ topic, partition, timestampMs, key, value },
        });
        expect(read.toSorted((a, b) => a.offset - b.offset).map(plain)).toEqual(list);
      }),
      { numRuns: 30 },
    );
  });

  // docs/rules.md#archive-files
  test('lies in files of limited size, each named by its first offset; an empty partition is one, and where it begins is kept', async () => {
    await using archive = await TestArchive.make();
    for (const firstOffset of [70, 90]) {
      const writer = await writerIn(archive.dir);
      writer.addPartition('riders', 2, firstOffset);
      await writer.close();
    }
    const writer = await writerIn(archive.dir, { blockBytes: 500, fileBytes: 1_500 });
    writer.append('riders', { ...riderAt(75), partition: 2 });
    for (let offset = 10; offset < 700; offset += 3) writer.append('riders', riderAt(offset));
    await writer.close();
    const files = (await archive.files('riders')).filter((path) => basename(path).startsWith('0-'));
    expect(files.length).toBeGreaterThan(3);
    for (const path of files) {
      expect((await stat(path)).size).toBeLessThan(2_300);
      const first = new ContainerFile(openContainer(path)!).nextBlock()!;
      // partition 0, then the offset as a zigzag number.
      expect(first.data[1]! & 0x7f).toBe((Number(basename(path).slice(2, 22)) * 2) & 0x7f);
    }
    // A header alone may be larger than a file should be: the first record is in it nevertheless.
    const tiny = await writerIn(archive.dir, { blockBytes: 1, fileBytes: 1 });
    tiny.addPartition('riders', 1, 5);
    tiny.append('riders', { ...riderAt(5), partition: 1 });
    await tiny.close();
    const bounds = [10, 698, 5, 6, 70, 76];
    expect((await archive.read()).bounds.riders!.flatMap(({ low, end }) => [low, end])).toEqual(bounds);
  });
});

test('an archive that is there already is gone on with in its last file, or in a new one where another library wrote that', async () => {
  await using archive = await TestArchive.make();
  for (const offset of [3, 4]) {
    const writer = await writerIn(archive.dir);
    writer.append('riders', riderAt(offset));
    expect(() => writer.append('riders', riderAt(offset))).toThrow(
      `Cannot append riders/0@${offset} to the archive: it goes on to ${offset} already`,
    );
    await writer.close();
  }
  expect(await archive.files('riders')).toHaveLength(1);
  const { timestampMs: timestamp, ...archived } = riderAt(5);
  const schema = { ...(archivedSchemas.riders as object), doc: 'Not ours' } as never;
  await archive.writeFile('riders', 0, 5, schema, [{ ...archived, timestamp }]);
  // An empty one of theirs makes room for ours of the same name.
  await archive.writeFile('riders', 1, 7, schema, []);
  const writer = await writerIn(archive.dir);
  writer.append('riders', riderAt(6));
  writer.append('riders', { ...riderAt(7), partition: 1 });
  await writer.close();
  expect(await archive.files('riders')).toHaveLength(4);
  expect(await offsets(archive)).toEqual([3, 4, 5, 6, 7]);
});
