import { mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import avro from 'avsc';
import { expect, test } from 'vitest';
import { ArchiveError } from '../../../../infra/archive/format/archive-files.ts';
import { parseContainerHeader } from '../../../../infra/archive/format/avro-container.ts';
import { MissingTopicsError } from '../../../../projector/ports/event-log.ts';
import { archivedSchemas } from '../../../../schemas/avro/avro-types.ts';
import { archivedRider, TestArchive } from '../../../support/worlds/archive.ts';

const riders = (archive: TestArchive, firstOffset: number, ...records: object[]) =>
  archive.writeFile('riders', 0, firstOffset, archivedSchemas.riders, records);

/** Puts a block into the file instead of what it holds, or the count of records before the block that it holds. */
async function putBlock(archive: TestArchive, file: string, count: number, stored?: Buffer): Promise<void> {
  const long = (number: number) => avro.Type.forSchema('long').toBuffer(number);
  await archive.edit(file, (bytes) => {
    const { length, sync } = parseContainerHeader(bytes)!;
    const block = stored ? Buffer.concat([long(stored.length), stored, sync]) : bytes.subarray(length + 1);
    return Buffer.concat([bytes.subarray(0, length), long(count), block]);
  });
}

/** What happens to a file of two riders' records, 0 and 5, that avsc wrote, and what is then said of which file. */
const damages: Record<string, [(archive: TestArchive, file: string) => Promise<unknown>, message: string]> = {
  'half a block before another file': [
    async (archive, file) => {
      await riders(archive, 6, archivedRider(6));
      await truncate(file, (await readFile(file)).length - 1);
    },
    'FILE at byte BLOCK: it ends within a block, and another file follows',
  ],
  'offsets before that of its name': [
    (archive, file) => rename(file, join(archive.folder('riders'), '0-00000000000000000050.avro')),
    '/0-00000000000000000050.avro: it holds offset 5, lower than the first offset of its name; rename it after its first record',
  ],
  'a wrong sync marker': [
    (archive, file) => archive.edit(file, (bytes) => bytes.fill(bytes.at(-1)! ^ 1, bytes.length - 1)),
    'FILE at byte BLOCK: the sync marker after its block is wrong',
  ],
  'fewer records than it says': [
    (archive, file) => putBlock(archive, file, 3),
    'FILE at byte BLOCK: record 3 of its block can not be read (undecodable value)',
  ],
  'too large a block': [
    (archive, file) => putBlock(archive, file, 1, Buffer.alloc((129 << 20) + 1)),
    'FILE at byte BLOCK: its block is larger than 129 MiB: write it again with smaller blocks',
  ],
  'too many records in a block': [
    (archive, file) => putBlock(archive, file, 1_000_001, Buffer.alloc(0)),
    'FILE at byte BLOCK: its block has over 1000000 records: write it again with smaller blocks',
  ],
  'timestamps of another unit': [
    (archive) => {
      const schema = JSON.stringify(archivedSchemas.riders).replaceAll('timestamp-millis', 'timestamp-micros');
      return archive.writeFile('riders', 0, 0, JSON.parse(schema), [archivedRider(0)]);
    },
    'FILE: its schema is not that of an archive of riders: field timestamp: want timestamp-millis (long), got timestamp-micros (long)',
  ],
  'no container': [
    (_, file) => writeFile(file, '{"rider":"r0001"}'),
    'FILE at byte 0: it does not begin as an Avro Object Container File',
  ],
  'a wrong name': [
    (archive, file) => rename(file, join(archive.folder('riders'), '0-0.avro')),
    '/0-0.avro: rename it to <partition>-<first offset, 20 digits>.avro, such as',
  ],
  'an unknown codec': [
    (archive, file) =>
      archive.edit(file, (bytes) =>
        Buffer.from(bytes.toString('latin1').replace(/(avro\.codec.)null/, '$1zstd'), 'latin1'),
      ),
    'FILE at byte 0: its codec is "zstd": write it again with null or deflate',
  ],
  'records of another partition': [
    (archive) => riders(archive, 0, archivedRider(0, 1)),
    'partition 1 in a file of partition 0',
  ],
  'offsets that go back': [
    (archive) => riders(archive, 0, archivedRider(3), archivedRider(2)),
    'offset 2 where more than 3 is due',
  ],
  'records that the file before it has': [
    (archive) => riders(archive, 4, archivedRider(4), archivedRider(6)),
    '/0-00000000000000000004.avro: it begins at offset 4, but FILE goes on to 5; remove the one that repeats the other',
  ],
};

test.each(Object.entries(damages))(
  'a file of an archive with %s is refused, with file and byte',
  async (_, [damage, message]) => {
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const file = await riders(archive, 0, archivedRider(0), archivedRider(5));
    const { length } = parseContainerHeader(await readFile(file))!;
    await damage(archive, file);
    await expect(archive.read()).rejects.toThrow(ArchiveError);
    await expect(archive.read()).rejects.toThrow(message.replaceAll('FILE', file).replace('BLOCK', String(length)));
  },
);

test('a deflated block is refused where it is spoilt, or unpacks to too much', async () => {
  await using archive = await TestArchive.make(1);
  const [file] = (await archive.files('riders')) as [string];
  const { length } = parseContainerHeader(await readFile(file))!;
  for (const [stored, what] of [
    [Buffer.alloc(30, 0xff), 'its block can not be inflated'],
    [deflateRawSync(Buffer.alloc((129 << 20) + 1), { level: 1 }), 'its block is larger than 129 MiB'],
  ] as const) {
    await archive.edit(file, (bytes) => bytes.subarray(0, length));
    await putBlock(archive, file, 1, stored);
    await expect(archive.read()).rejects.toThrow(`Cannot read ${file} at byte ${length}: ${what}`);
  }
});

test('an archive ends with its last whole block, which is said once; what is hidden or no Avro file does not count', async () => {
  await using archive = await TestArchive.make(1);
  await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
  const [file] = (await archive.files('riders')) as [string];
  const { length } = await readFile(file);
  await archive.append('riders', 0, [{ ...archivedRider(1), timestampMs: 1 }]);
  await truncate(file, (await readFile(file)).length - 1);
  for (const name of ['_SUCCESS.avro', '.0-0.avro', 'README.md'])
    await writeFile(join(archive.folder('riders'), name), '');
  const log = archive.open();
  for (let i = 0; i < 2; i++) expect((await log.bounds()).riders).toEqual([{ low: 0, end: 1 }]);
  expect(archive.warnings).toEqual([
    `${file} ends within a block that begins at byte ${length}: what is there of it does not count`,
  ]);
  await log.close();
});

test('a folder that is not there, one without topics, and a file are refused, with the fix', async () => {
  await using archive = await TestArchive.make();
  const refused = async (message: string) => {
    await expect(archive.read()).rejects.toThrow(MissingTopicsError);
    await expect(archive.read()).rejects.toThrow(message);
  };
  await mkdir(join(archive.dir, 'other-rides'));
  await refused('(ride-calendar.<topic>), but of KAFKA_TOPIC_PREFIX other-. ARCHIVE_DIR: name a folder');
  await rm(archive.dir, { recursive: true });
  await refused(`Cannot read the archive ${archive.dir}: there is no such folder. ARCHIVE_DIR:`);
  await writeFile(archive.dir, '');
  await refused(`Cannot read the archive ${archive.dir}: it is not a readable folder (ENOTDIR)`);
});
