import { writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import type { Schema } from 'avsc';
import { describe, expect, test } from 'vitest';
import type { UndecodableRecord } from '../../../../projector/ports/decoded-record.ts';
import { positionOf } from '../../../../projector/position/position.ts';
import { archivedSchemas } from '../../../../schemas/avro/avro-types.ts';
import { eventLogContract } from '../../../contracts/event-log.ts';
import { archivedRider, readArchive, TestArchive, writeContainer } from '../../../support/worlds/archive.ts';
import { portlandDirectory } from '../../../support/worlds/portland.ts';
import { sampleRecords } from '../../../support/worlds/records.ts';

eventLogContract('an archive', () => TestArchive.make(), { grows: false });

const offsetsOf = (records: { offset: number }[]) => records.map(({ offset }) => offset);

// docs/rules.md#archive-files, #archived-record
describe('an archive that another library wrote', () => {
  test('is read to the last record: partitions, offsets, codecs, several files', async () => {
    const { bounds, records } = await readArchive(portlandDirectory);
    expect(bounds.nights.map(({ end }) => end)).toEqual([117, 137, 124]);
    // Counted with that library.
    expect(records).toHaveLength(18_418);
    expect(records.filter((record) => 'undecodable' in record)).toEqual([]);
  });

  test('with codec deflate, its own names and more fields, is read', async () => {
    await using archive = await TestArchive.make(1);
    const field = (name: string, type: unknown) => ({ name, type });
    const value = ['handle', 'rider'].map((name) => field(name, 'string'));
    value.push(field('shoe_size', 'double'), field('revision', 'int'), field('changed_at', 'long'));
    const type = [{ type: 'record', name: 'value', namespace: 'topLevelRecord', fields: value }, 'null'];
    const longs = ['timestamp', 'offset'].map((name) => field(name, 'long'));
    const source = field('source', { type: 'map', values: 'bytes' });
    const fields = [field('key', 'string'), source, field('value', type), ...longs, field('partition', 'int')];
    const rider = { handle: 'ada', rider: 'r0001', shoe_size: 38.5, revision: 1, changed_at: 0 };
    const common = { partition: 0, timestamp: 7, key: 'r0001', source: { a: Buffer.from('x') } };
    const records = [rider, null].map((one, offset) => ({ ...common, offset, value: one }));
    const [path] = (await archive.files('riders')) as [string];
    await writeContainer(path, { type: 'record', name: 'topLevelRecord', fields } as Schema, records, 'deflate');
    expect((await archive.read()).records).toMatchObject([
      { offset: 0, timestampMs: 7, key: 'r0001', value: { ...sampleRecords.riders, name: null } },
      { offset: 1, timestampMs: 7, key: 'r0001', value: null },
    ]);
  });

  test('has one bad record of an enum symbol that ours lacks, in the middle of its block, also where fields follow the value', async () => {
    // A writer whose responses have one more.
    const schema = JSON.parse(JSON.stringify(archivedSchemas.attendance).replace('"CONFIRMED"', '"CONFIRMED","MAYBE"'));
    const records = ['GOING', 'MAYBE', 'NONE'].map((response, offset) => {
      const value = { ...sampleRecords.attendance, response };
      return { partition: 0, offset, timestamp: 9, key: `k${offset}`, value };
    });
    const read = async () => {
      await using archive = await TestArchive.make(1);
      await archive.removeFiles('attendance');
      await archive.writeFile('attendance', 0, 0, schema as Schema, records);
      return (await archive.read()).records;
    };
    const said = ['k0', 'unknown enum symbol: field response: want one of NONE, GOING, CONFIRMED', 'k2'];
    const reasons = async () => (await read()).map((one) => ('undecodable' in one ? one.undecodable : one.key));
    expect(await reasons()).toEqual(said);
    const bad = (await read())[1] as UndecodableRecord;
    expect(bad).toMatchObject({ topic: 'attendance', partition: 0, offset: 1, timestampMs: 9 });
    // Behind the fingerprint of its writer's schema.
    const raw = bad.raw();
    expect(raw.key).toEqual(Buffer.from('k1'));
    expect(raw.value!.subarray(0, 2)).toEqual(Buffer.from([0xc3, 1]));
    expect(raw.value!.subarray(10)).toEqual(Buffer.from('107269646530303031ae83020a723030303106000200', 'hex'));
    schema.fields.reverse();
    expect(await reasons()).toEqual(said);
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
  expect([offsetsOf(records), now.nights]).toEqual([[0, 1], Array(2).fill({ low: 0, end: 0 })]);
});
