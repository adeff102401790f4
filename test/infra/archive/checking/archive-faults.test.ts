import { copyFile, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import avro from 'avsc';
import { describe, expect, test } from 'vitest';
import { ArchiveError } from '../../../../infra/archive/format/archive-files.ts';
import { parseContainerHeader } from '../../../../infra/archive/format/avro-container.ts';
import { MissingTopicsError, type Position } from '../../../../projector/ports/event-log.ts';
import { archivedSchemas } from '../../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../../schemas/events/records.ts';
import { archivedRider, TestArchive } from '../../../support/worlds/archive.ts';

describe('an archive that is not whole', () => {
  test('ends, for its bounds, with the last whole block, and that is said once', async () => {
    await using archive = await TestArchive.make(1);
    await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
    const [file] = (await archive.files('riders')) as [string];
    const { length } = await readFile(file);
    await archive.append('riders', 0, [{ ...archivedRider(1), timestampMs: 1 }]);
    await truncate(file, (await readFile(file)).length - 1);
    const log = archive.open();
    for (let i = 0; i < 2; i++) expect((await log.bounds()).riders).toEqual([{ low: 0, end: 1 }]);
    expect(archive.warnings).toEqual([
      `${file} ends within a block that begins at byte ${length}: what is there of it does not count`,
    ]);
    await log.close();
  });

  test('is refused where another file follows the half block, with file and byte', async () => {
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const first = await archive.writeFile('riders', 0, 0, archivedSchemas.riders, [archivedRider(0)]);
    await archive.writeFile('riders', 0, 1, archivedSchemas.riders, [archivedRider(1)]);
    const bytes = await readFile(first);
    await truncate(first, bytes.length - 1);
    const blockStart = bytes.lastIndexOf(bytes.subarray(-16), -17) + 16;
    await expect(archive.read()).rejects.toThrow(
      `Cannot read ${first} at byte ${blockStart}: it ends within a block, and another file follows`,
    );
  });

  test('is refused where a file holds offsets before that of its name', async () => {
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const file = await archive.writeFile('riders', 0, 50, archivedSchemas.riders, [archivedRider(7)]);
    await expect(archive.open().bounds()).rejects.toThrow(
      `Cannot read ${file}: it holds offset 7, lower than the first offset of its name`,
    );
  });

  test('is refused where a sync marker is wrong', async () => {
    await using archive = await TestArchive.make(1);
    await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
    const [file] = (await archive.files('riders')) as [string];
    await archive.edit(file, (bytes) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([bytes.at(-1)! ^ 1])]));
    await expect(archive.open().bounds()).rejects.toThrow(
      /Cannot read .* at byte \d+: the sync marker after its block/,
    );
  });

  test('is refused where a block holds more or fewer records than it says', async () => {
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const file = await archive.writeFile('riders', 0, 0, archivedSchemas.riders, [archivedRider(0), archivedRider(1)]);
    const bytes = await readFile(file);
    const blockStart = bytes.indexOf(bytes.subarray(-16)) + 16;
    for (const [count, message] of [
      [1, 'its block goes on after its 1 records'],
      [3, 'record 3 of its block can not be read (undecodable value)'],
    ] as const) {
      await archive.edit(file, (whole) => {
        whole[blockStart] = 2 * count;
        return whole;
      });
      const log = archive.open();
      const from = Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position;
      const followed = log.follow(from, { onBatch: async () => undefined }, new AbortController().signal);
      await expect(followed).rejects.toThrow(`Cannot read ${file} at byte ${blockStart}: ${message}`);
      await log.close();
    }
  });

  test.each([
    ['is larger than 129 MiB', deflateRawSync(Buffer.alloc((129 << 20) + 1), { level: 1 }), 1],
    ['has over 1000000 records', deflateRawSync(Buffer.alloc(0)), 1_000_001],
  ])('is refused where a block %s, with file and byte', async (what, stored, count) => {
    await using archive = await TestArchive.make(1);
    const [file] = (await archive.files('riders')) as [string];
    const { length, sync } = parseContainerHeader(await readFile(file))!;
    const long = (number: number) => avro.Type.forSchema('long').toBuffer(number);
    const block = Buffer.concat([long(count), long(stored.length), stored, sync]);
    await archive.edit(file, (bytes) => Buffer.concat([bytes.subarray(0, length), block]));
    const log = archive.open();
    await expect(log.bounds()).rejects.toThrow(
      `Cannot read ${file} at byte ${length}: its block ${what}: write it again with smaller blocks`,
    );
    await log.close();
  });

  test('is refused where a deflated block is spoilt', async () => {
    await using archive = await TestArchive.make(1);
    await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
    const [file] = (await archive.files('riders')) as [string];
    await archive.edit(file, (bytes) => {
      bytes.fill(0xff, bytes.length - 30, bytes.length - 16);
      return bytes;
    });
    await expect(archive.open().bounds()).rejects.toThrow(/Cannot read .* at byte \d+: its block can not be inflated/);
  });
});

describe('refusals name what is wrong and the fix', () => {
  const refused = async (archive: TestArchive, message: string | RegExp) => {
    const log = archive.open();
    const failure = await log.bounds().then(
      () => new Error('not refused'),
      (error) => error,
    );
    expect(failure.message).toMatch(message);
    await log.close();
    return failure;
  };

  test('a folder that is not there, one without topics, and a file', async () => {
    await using archive = await TestArchive.make();
    expect(
      await refused(archive, 'it holds no folder of a topic (ride-calendar.<topic>). ARCHIVE_DIR: name a folder'),
    ).toBeInstanceOf(MissingTopicsError);
    await mkdir(join(archive.dir, 'other-rides'));
    await refused(archive, '(ride-calendar.<topic>), but of KAFKA_TOPIC_PREFIX other-. ARCHIVE_DIR: name a folder');
    await rm(archive.dir, { recursive: true });
    await refused(archive, `Cannot read the archive ${archive.dir}: there is no such folder. ARCHIVE_DIR:`);
    await writeFile(archive.dir, '');
    await refused(archive, `Cannot read the archive ${archive.dir}: it is not a readable folder (ENOTDIR)`);
  });

  test('a file that is no container file', async () => {
    await using archive = await TestArchive.make(1);
    const [file] = (await archive.files('riders')) as [string];
    await writeFile(file, '{"rider":"r0001"}');
    const error = await refused(
      archive,
      `Cannot read ${file} at byte 0: it does not begin as an Avro Object Container File`,
    );
    expect(error).toBeInstanceOf(ArchiveError);
  });

  test('a misnamed file, but not what is no Avro file or hidden', async () => {
    await using archive = await TestArchive.make(1);
    await writeFile(join(archive.folder('riders'), '_SUCCESS'), '');
    await writeFile(join(archive.folder('riders'), '.0-0.avro.crc'), '');
    await writeFile(join(archive.folder('riders'), 'README.md'), '');
    expect((await archive.open().bounds()).riders).toHaveLength(1);
    const [file] = (await archive.files('riders')).filter((path) => path.includes('0000')) as [string];
    await rename(file, join(archive.folder('riders'), '0-0.avro'));
    await refused(archive, /Cannot read .*0-0\.avro: rename it to <partition>-<first offset, 20 digits>\.avro/);
  });

  test("another topic's schema", async () => {
    await using archive = await TestArchive.make(1);
    const [file] = (await archive.files('riders')) as [string];
    const [metros] = (await archive.files('metros')) as [string];
    await copyFile(metros, file);
    await refused(archive, `Cannot read ${file}: its schema is not that of an archive of riders`);
  });

  test('an unknown codec', async () => {
    await using archive = await TestArchive.make(1);
    const [file] = (await archive.files('riders')) as [string];
    await archive.edit(file, (bytes) => Buffer.from(bytes.toString('latin1').replace('deflate', 'xz-fast'), 'latin1'));
    await refused(
      archive,
      `Cannot read ${file} at byte 0: its codec is "xz-fast": write it again with null or deflate`,
    );
  });

  test('records of another partition, and offsets that go back', async () => {
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const path = await archive.writeFile('riders', 0, 0, archivedSchemas.riders, [archivedRider(0, 1)]);
    await expect(archive.read()).rejects.toThrow('partition 1 in a file of partition 0');
    await rm(path);
    await archive.writeFile('riders', 0, 0, archivedSchemas.riders, [archivedRider(3), archivedRider(2)]);
    await expect(archive.read()).rejects.toThrow('offset 2 where more than 3 is due');
  });

  test('files that repeat each other', async () => {
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const first = await archive.writeFile('riders', 0, 0, archivedSchemas.riders, [archivedRider(0), archivedRider(5)]);
    const second = await archive.writeFile('riders', 0, 4, archivedSchemas.riders, [
      archivedRider(4),
      archivedRider(6),
    ]);
    await expect(archive.read()).rejects.toThrow(
      `Cannot read ${second}: it begins at offset 4, but ${first} goes on to 5`,
    );
  });
});
