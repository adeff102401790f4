import { writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { Schema } from 'avsc';
import { describe, expect, test } from 'vitest';
import type { UndecodableRecord } from '../../../../projector/ports/decoded-record.ts';
import type { LogBatch } from '../../../../projector/ports/event-log.ts';
import { positionOf } from '../../../../projector/position/position.ts';
import { archivedSchemas } from '../../../../schemas/avro/avro-types.ts';
import { type TopicName, topicNames } from '../../../../schemas/events/records.ts';
import { eventLogContract } from '../../../contracts/event-log.ts';
import { archivedRider, readArchive, TestArchive, writeContainer, writerIn } from '../../../support/worlds/archive.ts';
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
    const field = (name: string, type: unknown) => ({ name, type });
    const value = ['handle', 'rider'].map((name) => field(name, 'string'));
    value.push(field('shoe_size', 'double'), field('revision', 'int'), field('changed_at', 'long'));
    const type = [{ type: 'record', name: 'value', namespace: 'topLevelRecord', fields: value }, 'null'];
    const fields = [
      field('key', 'string'),
      field('source', { type: 'map', values: 'bytes' }),
      field('value', type),
      field('timestamp', 'long'),
      field('offset', 'long'),
      field('partition', 'int'),
    ];
    const rider = { handle: 'ada', rider: 'r0001', shoe_size: 38.5, revision: 1, changed_at: 0 };
    const common = { partition: 0, timestamp: 7, key: 'r0001', source: { a: Buffer.from('x') } };
    const records = [rider, null].map((one, offset) => ({ ...common, offset, value: one }));
    const [path] = (await archive.files('riders')) as [string];
    await writeContainer(path, { type: 'record', name: 'topLevelRecord', fields } as Schema, records, codec);
    expect((await archive.read()).records).toMatchObject([
      { offset: 0, timestampMs: 7, key: 'r0001', value: { ...sampleRecords.riders, name: null } },
      { offset: 1, timestampMs: 7, key: 'r0001', value: null },
    ]);
  });
});

/** What reads as good or bad of records that another library wrote to a topic. */
async function readAs(topic: TopicName, schema: object, records: object[]) {
  await using archive = await TestArchive.make(1);
  await archive.removeFiles(topic);
  await archive.writeFile(topic, 0, 0, schema as Schema, records);
  const read = (await archive.read()).records;
  return { read, said: read.map((one) => ('undecodable' in one ? one.undecodable : one.key)) };
}

describe('a value that can not be decoded is one bad record', () => {
  test('for an enum symbol that ours lacks, in the middle of its block, also where fields follow the value', async () => {
    // A writer whose responses have one more.
    const schema = JSON.parse(JSON.stringify(archivedSchemas.attendance).replace('"CONFIRMED"', '"CONFIRMED","MAYBE"'));
    const records = ['GOING', 'MAYBE', 'NONE'].map((response, offset) => {
      const value = { ...sampleRecords.attendance, response };
      return { partition: 0, offset, timestamp: 9, key: `k${offset}`, value };
    });
    const { read, said } = await readAs('attendance', schema, records);
    expect(said).toEqual(['k0', 'unknown enum symbol: field response: want one of NONE, GOING, CONFIRMED', 'k2']);
    const bad = read[1] as UndecodableRecord;
    expect(bad).toMatchObject({ topic: 'attendance', partition: 0, offset: 1, timestampMs: 9 });
    // Behind the fingerprint of its writer's schema.
    const raw = bad.raw();
    expect(raw.key).toEqual(Buffer.from('k1'));
    expect(raw.value!.subarray(0, 2)).toEqual(Buffer.from([0xc3, 1]));
    expect(raw.value!.subarray(10)).toEqual(Buffer.from('107269646530303031ae83020a723030303106000200', 'hex'));
    schema.fields.reverse();
    expect((await readAs('attendance', schema, records)).said).toEqual(said);
  });

  test('for the steps that it takes', async () => {
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
    expect((await readAs('riders', schema, records)).said).toEqual(['r0', 'too many steps to decode', 'r2']);
  });

  test('for its texts alone: a key or a field that is not UTF-8', async () => {
    const text = JSON.stringify(archivedSchemas.riders)
      .replace('"name":"key","type":"string"', '"name":"key","type":"bytes"')
      .replace('"name":"handle","type":"string"', '"name":"handle","type":"bytes"');
    const record = (offset: number, key: string, handle: string) => {
      const value = { ...sampleRecords.riders, handle: Buffer.from(handle, 'hex') };
      return { partition: 0, offset, timestamp: 9, key: Buffer.from(key, 'hex'), value };
    };
    const records = [record(0, 'ff', '61'), record(1, '61', 'ff'), record(2, '62', '61')];
    const { read, said } = await readAs('riders', JSON.parse(text), records);
    expect(said).toEqual(['key is not UTF-8', 'text is not UTF-8', 'b']);
    expect(read[0]!.raw().key).toEqual(Buffer.from([0xff]));
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
    positionOf(bounds, 'low'),
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
  const writer = await writerIn(archive.dir, { blockBytes: 10_000_000 });
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
  await log.follow({ ...positionOf(bounds, 'low'), riders: [1_001] }, { onBatch }, abort.signal);
  expect(batches.map(({ records }) => records.length)).toEqual([5_000, 5_000, 1_499]);
  expect(batches.map(({ nextOffset }) => nextOffset)).toEqual([11_001, 21_001, 23_999]);
  expect(batches[0]!.records[0]!.offset).toBe(1_002);
  await log.close();
});
