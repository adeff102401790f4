import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Schema } from 'avsc';
import { describe, expect, test } from 'vitest';
import { ArchiveWriter } from '../../../../infra/archive/saving/archive-writer.ts';
import type { UndecodableRecord } from '../../../../projector/ports/decoded-record.ts';
import { type LogBatch, MissingTopicsError } from '../../../../projector/ports/event-log.ts';
import { archivedSchemas } from '../../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../../schemas/events/records.ts';
import { eventLogContract } from '../../../contracts/event-log.ts';
import {
  archivedRider,
  readArchive,
  startOf,
  TestArchive,
  writeContainer,
  writerIn,
} from '../../../support/worlds/archive.ts';
import { portlandDirectory } from '../../../support/worlds/portland.ts';
import { sampleRecords } from '../../../support/worlds/records.ts';

eventLogContract('an archive', () => TestArchive.make(), { grows: false });

const offsetsOf = (records: { offset: number }[]) => records.map(({ offset }) => offset);

// docs/rules.md#archive-files, #archived-record
describe('an archive that another library wrote', () => {
  test('is read to the last record: partitions, offsets, codecs, several files', async () => {
    const { bounds, records } = await readArchive(portlandDirectory);
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
    await using archive = await TestArchive.make(1);
    await archive.removeFiles('riders');
    const schema: Schema = {
      type: 'record',
      name: 'topLevelRecord',
      fields: [
        { name: 'key', type: 'string' },
        { name: 'source', type: { type: 'map', values: 'bytes' } },
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
    const common = { partition: 0, timestamp: 7, key: 'r0001', source: { a: Buffer.from('x') } };
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
  /** A writer whose responses have one more. */
  const withMaybe = () =>
    JSON.parse(JSON.stringify(archivedSchemas.attendance).replace('"CONFIRMED"', '"CONFIRMED","MAYBE"'));
  const record = (offset: number, response: string) => {
    const value = { ...sampleRecords.attendance, response };
    return { partition: 0, offset, timestamp: 9, key: `k${offset}`, value };
  };

  test('is one bad record in the middle of its block', async () => {
    await using archive = await TestArchive.make(1);
    for (const file of await archive.files('attendance')) await rm(file);
    const responses = ['GOING', 'MAYBE', 'NONE', 'MAYBE'];
    await archive.writeFile(
      'attendance',
      0,
      0,
      withMaybe(),
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
    await using archive = await TestArchive.make(1);
    for (const file of await archive.files('attendance')) await rm(file);
    const schema = withMaybe();
    schema.fields.reverse();
    await archive.writeFile('attendance', 0, 0, schema, [record(0, 'MAYBE'), record(1, 'GOING')]);
    const { records } = await archive.read();
    expect(records.map((one) => ('undecodable' in one ? one.undecodable : one.key))).toEqual([
      'unknown enum symbol',
      'k1',
    ]);
  });

  test('for the steps that it takes is one bad record too', async () => {
    await using archive = await TestArchive.make(1);
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
    await using archive = await TestArchive.make(1);
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

// docs/rules.md#archive-read
test('an archive is read as it is when it is first asked: what a save adds comes with the next reader', async () => {
  await using archive = await TestArchive.make(1);
  const add = (offset: number) => archive.append('riders', 0, [{ ...archivedRider(offset), timestampMs: 1 }]);
  await add(0);
  const log = archive.open();
  const bounds = await log.bounds();
  await add(1);
  await archive.addPartition('nights');
  // A writer at work: half a block, in a file of its own too.
  const half = Buffer.concat([Buffer.from([4, 0x90, 0x03]), Buffer.alloc(100, 7)]);
  for (const file of await archive.files('riders')) await writeFile(file, half, { flag: 'a' });
  const offsets: number[] = [];
  const abort = new AbortController();
  const following = log.follow(
    startOf(bounds),
    { onBatch: async ({ records }) => void offsets.push(...offsetsOf(records)) },
    abort.signal,
  );
  await setTimeout(200);
  expect([offsets, await log.bounds(), archive.warnings]).toEqual([[0], bounds, []]);
  abort.abort();
  await following;
  const { records, bounds: now } = await archive.read();
  expect([offsetsOf(records), now.nights]).toEqual([
    [0, 1],
    [
      { low: 0, end: 0 },
      { low: 0, end: 0 },
    ],
  ]);
});

test('a large block comes in batches, and offsets before the position are left out', async () => {
  await using archive = await TestArchive.make();
  const writer = await writerIn(archive.dir, { codec: 'null', blockBytes: 10_000_000 });
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

test('an archive in a folder of another prefix is read by that prefix', async () => {
  await using archive = await TestArchive.make();
  await mkdir(archive.dir, { recursive: true });
  const writer = new ArchiveWriter({ dir: archive.dir, prefix: 'other.' });
  writer.append('riders', { ...archivedRider(0), timestampMs: 1 });
  await writer.close();
  expect((await readArchive(archive.dir, { prefix: 'other.' })).records).toHaveLength(1);
  await expect(readArchive(archive.dir)).rejects.toThrow(MissingTopicsError);
});
