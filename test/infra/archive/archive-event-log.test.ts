import { mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Schema } from 'avsc';
import { describe, expect, test, vi } from 'vitest';
import { ArchiveWriter } from '../../../infra/archive/archive-writer.ts';
import type { UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import { type LogBatch, MissingTopicsError } from '../../../projector/ports/event-log.ts';
import { archivedSchemas } from '../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { eventLogContract } from '../../contracts/event-log.ts';
import {
  archivedRider,
  followArchive,
  portlandDir,
  readArchive,
  startOf,
  TestArchive,
  writeContainer,
} from '../../support/archive.ts';
import { sampleRecords } from '../../support/records.ts';

eventLogContract('an archive', () => TestArchive.make());

const soon = { timeout: 20_000, interval: 20 };
const offsetsOf = (records: { offset: number }[]) => records.map(({ offset }) => offset);

// docs/rules.md#archive-files, #archived-record
describe('an archive that another library wrote', () => {
  test('is read to the last record: partitions, offsets, codecs, several files', async () => {
    const { bounds, records } = await readArchive(portlandDir);
    const ends = Object.fromEntries(topicNames.map((topic) => [topic, bounds[topic].map(({ end }) => end)]));
    expect(ends).toEqual({
      metros: [3],
      districts: [68],
      'developer-keys': [3],
      riders: [609],
      rides: [257],
      nights: [117, 137, 124],
      attendance: [2630, 2860, 2734, 2719],
      relations: [3180, 3164],
    });
    // Counted with that library.
    expect(records).toHaveLength(18_418);
    expect(records.filter((record) => 'undecodable' in record)).toEqual([]);
    const night = records.find(({ topic, partition, offset }) => topic === 'nights' && partition === 1 && offset === 3);
    expect(night).toMatchObject({ value: { day: expect.any(Number), meeting: expect.anything() } });
  });

  test.each(['null', 'deflate'])('with codec %s, its own names and more fields, is read', async (codec) => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.removeFiles('riders');
    const schema: Schema = {
      type: 'record',
      name: 'topLevelRecord',
      fields: [
        { name: 'key', type: 'string' },
        { name: 'headers', type: { type: 'map', values: 'bytes' } },
        {
          name: 'value',
          type: [
            {
              type: 'record',
              name: 'value',
              namespace: 'topLevelRecord',
              fields: [
                { name: 'handle', type: 'string' },
                { name: 'rider', type: 'string' },
                { name: 'shoe_size', type: 'double' },
                { name: 'revision', type: 'int' },
                { name: 'changed_at', type: 'long' },
              ],
            },
            'null',
          ],
        } as never,
        { name: 'timestamp', type: 'long' },
        { name: 'offset', type: 'long' },
        { name: 'partition', type: 'int' },
      ],
    };
    const value = { handle: 'ada', rider: 'r0001', shoe_size: 38.5, revision: 1, changed_at: 0 };
    const path = join(archive.folder('riders'), '0-00000000000000000000.avro');
    const common = { partition: 0, timestamp: 7, key: 'r0001', headers: { a: Buffer.from('x') } };
    await writeContainer(
      path,
      schema,
      [
        { ...common, offset: 0, value },
        { ...common, offset: 1, value: null },
      ],
      codec,
    );
    const { records } = await archive.read();
    expect(records).toMatchObject([
      { offset: 0, timestampMs: 7, key: 'r0001', value: { ...sampleRecords.riders, name: null } },
      { offset: 1, timestampMs: 7, key: 'r0001', value: null },
    ]);
  });
});

describe('a value that can not be decoded', () => {
  test('is one bad record in the middle of its block', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    for (const file of await archive.files('attendance')) await rm(file);
    const text = JSON.stringify(archivedSchemas.attendance).replace('"CONFIRMED"', '"CONFIRMED","MAYBE"');
    const record = (offset: number, response: string) => ({
      partition: 0,
      offset,
      timestamp: 9,
      key: `k${offset}`,
      value: { ...sampleRecords.attendance, response },
    });
    const responses = ['GOING', 'MAYBE', 'NONE', 'MAYBE'];
    await archive.writeFile(
      'attendance',
      0,
      0,
      JSON.parse(text),
      responses.map((one, i) => record(i, one)),
    );
    const { records, bounds } = await archive.read();
    expect(bounds.attendance).toEqual([{ low: 0, end: 4 }]);
    expect(records.map((one) => ('undecodable' in one ? one.undecodable : one.key))).toEqual([
      'k0',
      'unknown enum symbol',
      'k2',
      'unknown enum symbol',
    ]);
    const bad = records[1] as UndecodableRecord;
    expect(bad).toMatchObject({ topic: 'attendance', partition: 0, offset: 1, timestampMs: 9 });
    // Behind the fingerprint of its writer's schema.
    const raw = bad.raw();
    expect(raw.key).toEqual(Buffer.from('k1'));
    expect(raw.value!.subarray(0, 2)).toEqual(Buffer.from([0xc3, 1]));
    expect(raw.value!.subarray(10)).toEqual(Buffer.from('107269646530303031ae83020a723030303106000200', 'hex'));
  });

  test('is one bad record also where fields follow the value', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    for (const file of await archive.files('attendance')) await rm(file);
    const text = JSON.stringify(archivedSchemas.attendance).replace('"CONFIRMED"', '"CONFIRMED","MAYBE"');
    const schema = JSON.parse(text) as { fields: object[] };
    schema.fields.reverse();
    const record = (offset: number, response: string) => ({
      partition: 0,
      offset,
      timestamp: 9,
      key: `k${offset}`,
      value: { ...sampleRecords.attendance, response },
    });
    await archive.writeFile('attendance', 0, 0, schema as never, [record(0, 'MAYBE'), record(1, 'GOING')]);
    const { records } = await archive.read();
    expect(records.map((one) => ('undecodable' in one ? one.undecodable : one.key))).toEqual([
      'unknown enum symbol',
      'k1',
    ]);
  });

  test('for the steps that it takes is one bad record too', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.removeFiles('riders');
    const [level, deep] = [100, 10_000];
    let nested: unknown = 'int';
    let item: unknown = 1;
    for (let i = 0; i < level; i++) {
      nested = { type: 'record', name: `Level${i}`, fields: [{ name: 'in', type: nested }] };
      item = { in: item };
    }
    const schema = structuredClone(archivedSchemas.riders) as { fields: { type: { fields: object[] }[] }[] };
    schema.fields[4]!.type[1]!.fields.push({ name: 'more', type: { type: 'array', items: nested } });
    const records = [1, deep, 1].map((count, offset) => {
      const { value, ...rest } = archivedRider(offset);
      return { ...rest, value: { ...value, more: Array(count).fill(item) } };
    });
    await archive.writeFile('riders', 0, 0, schema as never, records);
    const read = await archive.read();
    expect(read.records.map((one) => ('undecodable' in one ? one.undecodable : one.key))).toEqual([
      'r0',
      'too many steps to decode',
      'r2',
    ]);
  });

  test('for its texts alone: a key or a field that is not UTF-8', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.removeFiles('riders');
    const text = JSON.stringify(archivedSchemas.riders)
      .replace('"name":"key","type":"string"', '"name":"key","type":"bytes"')
      .replace('"name":"handle","type":"string"', '"name":"handle","type":"bytes"');
    const record = (offset: number, key: string, handle: string) => {
      const value = { ...sampleRecords.riders, handle: Buffer.from(handle, 'hex') };
      return { partition: 0, offset, timestamp: 9, key: Buffer.from(key, 'hex'), value };
    };
    await archive.writeFile('riders', 0, 0, JSON.parse(text), [
      record(0, 'ff', '61'),
      record(1, '61', 'ff'),
      record(2, '62', '61'),
    ]);
    const { records } = await archive.read();
    expect(records.map((one) => ('undecodable' in one ? one.undecodable : one.key))).toEqual([
      'key is not UTF-8',
      'text is not UTF-8',
      'b',
    ]);
    expect(records[0]!.raw().key).toEqual(Buffer.from([0xff]));
  });
});

describe('an archive that grows', () => {
  test('goes on where a block came in pieces, and says nothing meanwhile', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.append(
      'riders',
      0,
      [0, 1].map((i) => ({ ...archivedRider(i), timestampMs: 1 })),
    );
    const [file] = (await archive.files('riders')) as [string];
    const whole = await readFile(file);
    await archive.append('riders', 0, [{ ...archivedRider(2), timestampMs: 1 }]);
    const longer = await readFile(file);
    await truncate(file, whole.length);
    await using following = followArchive(archive);
    await vi.waitFor(() => expect(following.offsets()).toEqual([0, 1]), soon);
    for (const length of [whole.length + 1, whole.length + 30, longer.length - 1]) {
      await writeFile(file, longer.subarray(0, length));
      await new Promise((resolve) => setTimeout(resolve, 120));
      expect(following.offsets()).toEqual([0, 1]);
    }
    await writeFile(file, longer);
    await vi.waitFor(() => expect(following.offsets()).toEqual([0, 1, 2]), soon);
    expect(archive.warnings).toEqual([]);
  });

  test('goes on in a writer’s next file, and after a crash cut half a block off', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
    const [file] = (await archive.files('riders')) as [string];
    // Two records in 400 bytes, of which the crash left a hundred.
    const half = Buffer.concat([Buffer.from([4, 0x90, 0x03]), Buffer.alloc(100, 7)]);
    await writeFile(file, Buffer.concat([await readFile(file), half]));
    await using following = followArchive(archive, { warnAfterMs: 50 });
    await vi.waitFor(() => expect(following.offsets()).toEqual([0]), soon);
    await vi.waitFor(() => expect(archive.warnings.filter((text) => text.includes('waiting'))).toHaveLength(1), soon);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(archive.warnings.filter((text) => text.includes('waiting'))).toHaveLength(1);
    // The writer that takes over cuts it off; its blocks are small, so that files follow each other.
    await archive.append(
      'riders',
      0,
      Array.from({ length: 3_000 }, (_, i) => ({ ...archivedRider(i + 1), timestampMs: 1 })),
    );
    await vi.waitFor(() => expect(following.offsets()).toHaveLength(3_001), soon);
    expect(following.offsets()).toEqual(Array.from({ length: 3_001 }, (_, i) => i));
    expect((await archive.files('riders')).length).toBeGreaterThan(1);
  });

  test('is read from a topic whose folder comes later', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    await rm(archive.folder('nights'), { recursive: true });
    await using following = followArchive(archive);
    await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
    await vi.waitFor(() => expect(following.offsets()).toEqual([0]), soon);
    await archive.append('nights', 0, [{ key: 'n', value: sampleRecords.nights, timestampMs: 1 }]);
    await vi.waitFor(() => expect(following.offsets()).toEqual([0, 0]), soon);
  });

  test('waits for a file whose header is not whole yet', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(1);
    const [file] = (await archive.files('riders')) as [string];
    await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
    const whole = await readFile(file);
    for (const length of [0, 2, 100]) {
      await writeFile(file, whole.subarray(0, length));
      expect((await archive.open().bounds()).riders).toEqual([{ low: 0, end: 0 }]);
    }
    await using following = followArchive(archive);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await writeFile(file, whole);
    await vi.waitFor(() => expect(following.offsets()).toEqual([0]), soon);
  });
});

test('a large block comes in batches, and offsets before the position are left out', async () => {
  await using archive = await TestArchive.make();
  const writer = new ArchiveWriter({ dir: archive.dir, codec: 'null', blockBytes: 10_000_000 });
  for (let i = 0; i < 12_000; i++) writer.append('riders', { ...archivedRider(i * 2), timestampMs: 1 });
  await writer.close();
  const log = archive.open();
  const bounds = await log.bounds();
  const abort = new AbortController();
  const batches: LogBatch[] = [];
  const onBatch = async (batch: LogBatch) => {
    batches.push(batch);
    if (batch.nextOffset === bounds.riders[0]!.end) abort.abort();
  };
  await log.follow({ ...startOf(bounds), riders: [1_001] }, { onBatch }, abort.signal);
  expect(batches.map(({ records }) => records.length)).toEqual([5_000, 5_000, 1_499]);
  expect(batches.map(({ nextOffset }) => nextOffset)).toEqual([11_001, 21_001, 23_999]);
  expect(batches[0]!.records[0]!.offset).toBe(1_002);
  await log.close();
});

test('offsets before the position are left out, block for block', async () => {
  await using archive = await TestArchive.make();
  const writer = new ArchiveWriter({ dir: archive.dir, blockBytes: 300 });
  for (let i = 0; i < 100; i++) writer.append('riders', { ...archivedRider(i), timestampMs: 1 });
  await writer.close();
  const log = archive.open();
  const bounds = await log.bounds();
  const abort = new AbortController();
  const offsets: number[] = [];
  const onBatch = async ({ records, nextOffset }: LogBatch) => {
    offsets.push(...offsetsOf(records));
    if (nextOffset === 100) abort.abort();
  };
  await log.follow({ ...startOf(bounds), riders: [77] }, { onBatch }, abort.signal);
  expect(offsets).toEqual(Array.from({ length: 23 }, (_, i) => 77 + i));
  await log.close();
});

test('an archive in a folder of another prefix is read by that prefix', async () => {
  await using archive = await TestArchive.make();
  await mkdir(archive.dir, { recursive: true });
  const writer = new ArchiveWriter({ dir: archive.dir, prefix: 'other.' });
  writer.append('riders', { ...archivedRider(0), timestampMs: 1 });
  await writer.close();
  expect((await readArchive(archive.dir, { prefix: 'other.' })).records).toHaveLength(1);
  await expect(readArchive(archive.dir)).rejects.toThrow(MissingTopicsError);
});
