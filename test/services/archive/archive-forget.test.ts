import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import avro from 'avsc';
import { expect, test } from 'vitest';
import { forgetRider } from '../../../infra/archive/forgetting/forget-rider.ts';
import { journalPath, replacementPath } from '../../../infra/archive/format/archive-journal.ts';
import { lockArchive } from '../../../infra/archive/format/archive-lock.ts';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import { archivedSchemas } from '../../../schemas/avro/avro-types.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { type AnyRecord, defaultTopicPrefix, type TopicName } from '../../../schemas/events/records.ts';
import { runArchiveForget } from '../../../services/archive/archive-forget.ts';
import type { Part } from '../../../services/cli/progress.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { checkArchive, TestArchive } from '../../support/worlds/archive.ts';
import { rejectAt, rider, sampleRecords } from '../../support/worlds/records.ts';
import { SavedArchive } from '../../support/worlds/saved-archive.ts';

const settings = loadSettings({});
const forget = async (who: string, dir: string) => {
  const { code, out } = await heard((io) => runArchiveForget({ rider: who, dir, json: true }, settings, io));
  return [code, JSON.parse(out[0]!)];
};
const problemsIn = async (dir: string) => (await checkArchive(dir)).problems;
const nothing = { leaders: 0, rejected: 0, headers: 0, raw: 0, example: false };

/** An archive of records given as topic, key and value, in the order of their offsets in partition 0. */
async function archiveOf(records: readonly [TopicName, string, AnyRecord | null, object?][]) {
  const archive = await TestArchive.make(1);
  const timed = records.map(([topic, key, value, more]) => ({ topic, key, value, timestampMs: 1_000, ...more }));
  await archive.write(timed, { blockBytes: 300 });
  return archive;
}

const places = async (archive: TestArchive) =>
  (await archive.read()).records.map((one) => `${one.topic}@${one.offset} ${'key' in one ? one.key : ''}`);
const answer = (who: string, ride = 'ride0001') => ({ ...sampleRecords.attendance, ride, rider: who });
const relation = (who: string, other: string) => ({ ...sampleRecords.relations, rider: who, other });
const ride = (...leaders: string[]) => ({ ...sampleRecords.rides, leaders });
const reject = (topic: TopicName, offset: number, key: string | null, value: Buffer | null, headers = {}) =>
  rejectAt(offset, { topic, partition: 0, raw: { key: key === null ? null : Buffer.from(key), value, headers } });

// docs/rules.md#archive-forget

test('archive forget takes a rider’s records out, in both roles and tombstones too, and keeps all places', async () => {
  await using archive = await archiveOf([
    ['riders', 'ada', rider('ada').value],
    ['riders', 'bob', rider('bob').value],
    ['riders', 'ada', null],
    ['attendance', 'ride0001/2026-05-01/ada', answer('ada')],
    // A ride may be called as a rider is.
    ['attendance', 'adaada/2026-05-01/bob', answer('bob', 'adaada')],
    ['relations', 'ada/bob', relation('ada', 'bob')],
    ['relations', 'bob/ada', null],
    ['relations', 'bob/adam', relation('bob', 'adam')],
    // Published to the wrong topic: their keys are bad.
    ['nights', 'ride0001/2026-05-01/ada', null],
    ['rides', 'bob/ada', null],
    ['rides', 'adaada', null],
    // Their values alone name them.
    ['riders', 'bob', rider('ada').value],
    ['attendance', 'ride0001/2026-05-01/bob', answer('ada')],
    ['relations', 'bob/cem', relation('ada', 'cem')],
    ['relations', 'bob/cem', relation('bob', 'ada')],
  ]);
  const records = { riders: 3, attendance: 2, relations: 4, nights: 1, rides: 1 };
  expect(await forget('ada', archive.dir)).toEqual([0, { dir: archive.dir, ...nothing, records, files: 5 }]);
  expect(await places(archive)).toEqual([
    'riders@1 bob',
    'rides@1 adaada',
    'attendance@1 adaada/2026-05-01/bob',
    'relations@2 bob/adam',
  ]);
  expect(await problemsIn(archive.dir)).toEqual([]);
  expect(await forget('ada', archive.dir)).toEqual([0, { dir: archive.dir, ...nothing, records: {}, files: 0 }]);
});

test('archive forget takes them out of rides’ leaders, values as they came, and headers; the records stay', async () => {
  const headers = (...texts: string[]) => texts.map((text) => ({ key: text, value: Buffer.from(text) }));
  await using archive = await archiveOf([
    ['rides', 'ride0001', ride('cem', 'ada', 'bob', 'ada'), { rawValue: encodeValue('rides', ride('ada', 'bob')) }],
    ['rides', 'ride0002', ride('bob'), { rawValue: Buffer.from('by ada') }],
    ['rides', 'ride0003', ride('ada'), { rawValue: Buffer.from('by adam') }],
    ['rides', 'ride0004', ride('adam')],
    ['metros', 'portland', sampleRecords.metros, { headers: headers('desk', 'ada', 'x-ada', 'ada-y') }],
  ]);
  const [, result] = await forget('ada', archive.dir);
  expect(result).toEqual({ dir: archive.dir, ...nothing, records: {}, leaders: 2, headers: 1, raw: 2, files: 2 });
  const [metro, ...rides] = (await archive.read()).records as LogRecord[];
  expect(metro!.headers).toEqual(headers('desk', 'x-ada', 'ada-y'));
  expect(rides.map(({ rawValue }) => rawValue)).toEqual([null, null, Buffer.from('by adam'), null]);
  const wanted = [ride('cem', 'bob'), ride('bob'), ride(), ride('adam')];
  expect(rides.map(({ offset, timestampMs, value }) => ({ offset, timestampMs, value }))).toEqual(
    wanted.map((value, offset) => ({ offset, timestampMs: 1_000, value })),
  );
  expect(await problemsIn(archive.dir)).toEqual([]);
});

test('archive forget writes a record anew by its file’s own schema: with further fields, and other unions', async () => {
  await using archive = await TestArchive.make(1);
  const schema = structuredClone(archivedSchemas.rides) as { fields: { name: string; type: unknown }[] };
  const [, theirs] = schema.fields[4]!.type as [null, { fields: { name: string; type: unknown }[] }];
  // As Spark writes it: anything may be null.
  const leaders = theirs.fields.find(({ name }) => name === 'leaders')!;
  leaders.type = ['null', { type: 'array', items: ['string', 'null'] }];
  theirs.fields.push({ name: 'weight', type: ['null', 'double', 'string'] });
  schema.fields.splice(5, 2, { name: 'run', type: 'int' });
  const value = { ...ride('bob', 'ada'), weight: 0.1 };
  const record = { partition: 0, offset: 1, timestamp: 1, key: 'ride0001', run: 7, value };
  const path = await archive.writeFile('rides', 0, 1, schema as never, [record]);
  expect((await forget('ada', archive.dir))[1]).toMatchObject({ leaders: 1, files: 1 });
  expect((await archive.read()).records).toMatchObject([{ value: ride('bob') }]);
  const left: unknown[] = [];
  for await (const one of avro.createFileDecoder(path)) left.push(one);
  expect(left).toMatchObject([{ ...record, value: { ...value, leaders: ['bob'] } }]);
});

test('archive forget takes bad records about them out, by key, value or header', async () => {
  await using archive = await TestArchive.make(1);
  const value = encodeValue('attendance', answer('ada'));
  const longest = 'a'.repeat(64);
  archive.reject([
    reject('attendance', 1, 'ride0001/2026-05-01/ada', null),
    // Published to the wrong topic.
    reject('nights', 2, 'ride0001/2026-05-01', value),
    reject('riders', 3, null, Buffer.from('{"rider":"ada"}')),
    reject('rides', 4, 'ride0001', encodeValue('rides', ride('ada')).subarray(0, -1)),
    reject('nights', 5, 'x', null, { by: Buffer.from('ada') }),
    reject('nights', 6, 'x', null, { ada: Buffer.alloc(0) }),
    // Nobody can look into it.
    { ...reject('nights', 7, null, Buffer.from('packed')), reason: 'batch too large' },
    reject('attendance', 8, 'ride0001/2026-05-01/bob', encodeValue('attendance', answer('adam'))),
    // A metro may be called as a rider is.
    reject('metros', 9, 'ada', Buffer.from('adam')),
    // The longest id, before a byte that is a letter too: the next text's length.
    reject('nights', 10, 'x', encodeValue('relations', relation(longest, 'b'.repeat(33)))),
  ]);
  const kept = archive.rejected().slice(7);
  const [, result] = await forget('ada', archive.dir);
  expect(result).toEqual({ dir: archive.dir, ...nothing, records: {}, rejected: 7, files: 1 });
  expect(archive.rejected()).toEqual(kept);
  await forget(longest, archive.dir);
  expect(archive.rejected()).toEqual(kept.slice(0, -1));
});

test('a save that goes on after archive forget brings back none of it, nor a bad record of theirs', async () => {
  await using saved = await SavedArchive.make();
  const rejects = [reject('riders', 7, 'c', null), reject('riders', 8, 'bob', null)];
  await saved.save({}, rejects);
  // The last record of its partition.
  expect((await forget('c', saved.dir))[1]).toMatchObject({ records: { riders: 1 }, rejected: 1 });
  expect(saved.manifest().topics.riders!.partitions[0]).toMatchObject({ records: 2, last_offset: 1, next_offset: 3 });
  await forget('b', saved.dir);
  await saved.source.append('riders', 0, [rider('e')]);
  expect(await saved.save({}, rejects)).toMatchObject({ records: 1, rejected: 0 });
  expect(await saved.save({}, rejects)).toMatchObject({ records: 0, rejected: 0 });
  expect(await places(saved.archive)).toEqual(['riders@0 a', 'riders@3 e', 'riders@0 d']);
  expect(saved.archive.rejected().map(({ raw }) => String(raw.key))).toEqual(['bob']);
  expect(await problemsIn(saved.dir)).toEqual([]);
});

test('archive forget changes nothing in an archive that is not as it was saved, or goes on behind its manifest, nor beside a save', async () => {
  await using saved = await SavedArchive.saved();
  const before = await saved.bytes();
  const unlock = lockArchive(saved.dir, 'archive save');
  await expect(forget('d', saved.dir)).rejects.toThrow('Cannot run archive forget: archive save (process');
  unlock();
  saved.archive.reject([reject('riders', 7, 'd', null)]);
  await expect(forget('d', saved.dir)).rejects.toThrow('has more than the manifest says: a save was killed');
  expect(await saved.bytes()).toEqual(before);
  const [file] = await saved.archive.files('riders');
  await saved.flip(file!);
  await expect(forget('d', saved.dir)).rejects.toThrow(`${file}: its bytes are not those that were saved`);
});

test('archive forget that is told to end while it reads, up to the last byte, changes nothing', async () => {
  await using archive = await archiveOf([
    ['riders', 'ada', rider('ada').value],
    ['relations', 'ada/bob', relation('ada', 'bob')],
  ]);
  const stop = new AbortController();
  const onProgress = ({ done, total }: Part) => void (done === total && stop.abort(new Error('stopped')));
  const how = { dir: archive.dir, prefix: defaultTopicPrefix, rider: 'ada', signal: stop.signal, onProgress };
  await expect(forgetRider(how)).rejects.toThrow('stopped');
  expect(await places(archive)).toHaveLength(2);
});

test('archive forget that was killed is undone, or finished, by the next that writes; check says so', async () => {
  await using saved = await SavedArchive.saved();
  await using done = await TestArchive.make();
  cpSync(saved.dir, done.dir, { recursive: true });
  await forget('b', done.dir);
  const [old, anew] = [(await saved.archive.files('riders'))[0]!, (await done.files('riders'))[0]!];
  const bytes = readFileSync(old);

  // Before the new manifest: nothing has happened yet.
  copyFileSync(anew, replacementPath(old));
  expect(await problemsIn(saved.dir)).toEqual([]);
  await saved.save();
  expect(existsSync(replacementPath(old))).toBe(false);
  expect(readFileSync(old)).toEqual(bytes);

  // After it: before and after the file took its place.
  for (const isInPlace of [false, true]) {
    writeFileSync(old, bytes);
    copyFileSync(anew, isInPlace ? old : replacementPath(old));
    copyFileSync(join(done.dir, 'manifest.json'), journalPath(saved.dir));
    expect((await problemsIn(saved.dir))[0].kind).toBe('unfinished');
    expect((await forget('b', saved.dir))[1]).toMatchObject({ files: 0, records: {} });
    expect(await problemsIn(saved.dir)).toEqual([]);
    expect(readManifest(saved.dir)).toEqual(readManifest(done.dir));
    expect(readdirSync(saved.dir).filter((name) => name.startsWith('.'))).toEqual([]);
  }
});

test('archive forget says in words what it took, and wants a rider id', async () => {
  await using archive = await archiveOf([['riders', 'ada', rider('ada').value]]);
  const said = (who: string) => heard((io) => runArchiveForget({ rider: who, dir: archive.dir }, settings, io));
  for (const wrong of ['', 'a/b'])
    await expect(said(wrong)).rejects.toThrow('Cannot run archive forget: the rider is not a rider id');
  expect((await said('ada')).out[0]).toBe(`Removed 1 record of riders: 1 file of ${archive.dir} written anew`);
  expect((await said('ada')).out).toEqual([`Nothing of the rider is in ${archive.dir}`]);
});
