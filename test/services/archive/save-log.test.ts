import { hash as hashOf } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { lockArchive } from '../../../infra/archive/format/archive-lock.ts';
import { readManifest, writeManifest } from '../../../infra/archive/format/archive-manifest.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import { archivedTypes } from '../../../schemas/avro/avro-types.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { archiveSave } from '../../../services/archive/save-log.ts';
import type { Part } from '../../../services/cli/progress.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { checkArchive, TestArchive } from '../../support/worlds/archive.ts';
import { rejectAt, rider } from '../../support/worlds/records.ts';
import { SavedArchive } from '../../support/worlds/saved-archive.ts';

const sha256 = (bytes: string | Buffer) => hashOf('sha256', bytes);
const hashes = ({ topics }: ReturnType<SavedArchive['manifest']>) =>
  Object.values(topics).flatMap(({ partitions }) => partitions.map(({ hash }) => hash));

test('archive save keeps partitions, offsets, timestamps, keys and values, up to the ends as they were when it began', async () => {
  await using saved = await SavedArchive.make();
  const records = (await saved.source.read()).records as (LogRecord & { timestampMs: number })[];
  const log = new MemoryEventLog({ partitions: byTopic(() => 2), records });
  const heard: Part[] = [];
  const result = await archiveSave(log, async () => {}, saved.dir, {
    signal: new AbortController().signal,
    onProgress(part) {
      heard.push(part);
      log.append({ ...records[0]!, offset: 100 + heard.length });
    },
  });
  expect(result).toEqual({ records: 4, rejected: 0, exact_since: expect.any(String) });
  expect((await saved.archive.read()).records).toMatchObject(records.map(({ raw: _, ...record }) => record));
  expect([heard[0], heard.at(-1)]).toEqual([0, 4].map((done) => ({ done, total: 4 })));
});

test('archive save sets what can not be decoded aside, and the bad records there are, each once', async () => {
  await using saved = await SavedArchive.make();
  await saved.source.appendUndecodable('rides', 0, 'b');
  const rejects = [rejectAt(4), rejectAt(0, { topic: 'rides', partition: 0, timestampMs: 5 })];
  expect(await saved.save({}, rejects)).toMatchObject({ records: 4, rejected: 2 });
  const places = saved.archive.rejected().map(({ topic, offset, reason }) => `${topic}@${offset} ${reason}`);
  expect(places).toEqual([
    expect.stringMatching(/^rides@0 unknown enum symbol: field distance: want one of UNDER_5/),
    'nights@4 unknown schema id',
  ]);
  expect((await saved.archive.read()).records).toHaveLength(4);
  expect(await saved.save({}, rejects)).toMatchObject({ records: 0, rejected: 0 });
});

// docs/rules.md#archive-manifest

test('the manifest of a saved archive says what each partition and file holds', async () => {
  await using saved = await SavedArchive.make();
  const { exact_since } = await saved.save();
  const manifest = saved.manifest();
  expect(manifest).toMatchObject({ prefix: 'ride-calendar.', log: 'a log', exact_since, saved_until: exact_since });
  const [first] = manifest.topics.riders!.partitions;
  const [path] = await saved.archive.files('riders');
  const bytes = readFileSync(path!);
  const records = ['a', 'b', 'c'].map((key, offset) => {
    const { value, timestampMs: timestamp } = rider(key, 1_000 + offset);
    return archivedTypes.riders.toBuffer({ partition: 0, offset, timestamp, key, value, headers: [], raw: null });
  });
  const hash = records.reduce((before, one) => sha256(Buffer.concat([Buffer.from(before, 'hex'), one])), '');
  expect(first).toMatchObject({
    ...{ partition: 0, records: 3, first_offset: 0, last_offset: 2, next_offset: 3, hash },
    ...{ first_timestamp: 1_000, last_timestamp: 1_002 },
    files: [{ name: '0-00000000000000000000.avro', records: 3, bytes: bytes.length, sha256: sha256(bytes) }],
  });
  expect(manifest.topics.nights!.partitions).toMatchObject([{ records: 0, hash: '', last_offset: null }, {}]);
});

// docs/rules.md#archive-save
const lagMs = async () => 60_000;

test('exact_since stays while no gap is longer than the log keeps superseded records; then it moves, once nothing is lost with that, or with --after-gap', async () => {
  await using saved = await SavedArchive.saved();
  await sleep(5);
  // There is no time of which the archive has every record.
  const first = await saved.save({ compactionLagMs: async () => 1 });
  expect(saved.manifest()).toMatchObject({ exact_since: first.exact_since, saved_until: first.exact_since });
  await sleep(5);
  expect((await saved.save({ compactionLagMs: lagMs })).exact_since).toBe(first.exact_since);
  const until = saved.manifest().saved_until;
  expect(until! > first.exact_since!).toBe(true);
  await saved.source.append('riders', 1, [rider('e')]);
  await sleep(5);
  const before = await saved.bytes();
  await expect(saved.save()).rejects.toThrow(
    `Cannot save to the archive: it has every record from ${first.exact_since} to ${until}, and of the time since some may be gone: Kafka keeps superseded ones for 0 ms`,
  );
  expect(await saved.bytes()).toEqual(before);
  const again = await saved.save({ afterGap: true });
  expect(again).toMatchObject({ records: 1, exact_since: saved.manifest().saved_until });
  // The clock of a save was ahead: nobody knows how long the gap is.
  const ahead = new Date(Date.now() + 90_000).toISOString();
  writeManifest(saved.dir, { ...saved.manifest(), saved_until: ahead });
  await expect(saved.save({ compactionLagMs: lagMs })).rejects.toThrow(`to ${ahead}, and of the time since`);
});

test('exact_since and the manifest are brought up to date every 30 seconds while a save follows the log', async () => {
  await using saved = await SavedArchive.saved();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const stop = new AbortController();
  let checkpoints = 0;
  const onCheckpoint = () => void checkpoints++;
  const written = async (count: number) => {
    while (checkpoints < count) await new Promise((resolve) => setImmediate(resolve));
  };
  const following = saved.save({ compactionLagMs: lagMs, follow: true, signal: stop.signal, onCheckpoint });
  // Once it has what the log holds.
  await written(1);
  const until = Date.parse(saved.manifest().saved_until!);
  vi.advanceTimersByTime(29_999);
  expect(checkpoints).toBe(1);
  vi.advanceTimersByTime(1);
  await written(2);
  expect(Date.parse(saved.manifest().saved_until!)).toBe(until + 30_000);
  stop.abort();
  await following;
});

test('exact_since is not known before a save came to its end', async () => {
  await using saved = await SavedArchive.make();
  const stop = new AbortController();
  const onProgress = () => stop.abort(new Error('stopped'));
  await expect(saved.save({ signal: stop.signal, onProgress })).rejects.toThrow('stopped');
  expect(saved.manifest()).toMatchObject({ exact_since: null, saved_until: null });
  const problem = expect.stringContaining('its first save has not come to the end of the log');
  expect(await checkArchive(saved.dir)).toMatchObject({ code: 1, problems: [{ problem }] });
  expect((await saved.save({ compactionLagMs: lagMs })).exact_since).not.toBeNull();
  expect((await saved.archive.read()).records).toHaveLength(4);
});

test('a save that goes on with an archive refuses one that is not as it was saved, or has no manifest, and touches nothing', async () => {
  await using saved = await SavedArchive.saved();
  await saved.source.append('riders', 0, [rider('new')]);
  const [file] = await saved.archive.files('riders');
  await saved.flip(file!);
  const before = await saved.bytes();
  const why = new RegExp(`${file}: its bytes are not those that were saved.*Nothing was saved`);
  await expect(saved.save()).rejects.toThrow(why);
  expect(await saved.bytes()).toEqual(before);
  expect(existsSync(`${saved.dir}/.lock`)).toBe(false);
  await saved.flip(file!);
  expect((await saved.save()).records).toBe(1);
  rmSync(`${saved.dir}/manifest.json`);
  await expect(saved.save()).rejects.toThrow(
    `${saved.dir} holds ride-calendar.metros, but no manifest.json; save to an empty folder`,
  );
});

test('a save that goes on with an archive cuts off what a save that was killed wrote after the manifest, and saves it again: hashes are those of one whole save', async () => {
  await using saved = await SavedArchive.saved([rejectAt(1)]);
  await saved.source.append('riders', 0, [rider('e'), rider('f'), rider('g')]);
  // In the file that it went on with and in others, with half a block.
  const behind = [3, 4].map((offset) => ({ topic: 'riders' as const, ...rider('not there'), offset }));
  await saved.archive.write(behind, { fileBytes: 1 });
  for (const file of await saved.archive.files('riders')) appendFileSync(file, Buffer.from([2, 100, 1, 2, 3]));
  saved.archive.reject([rejectAt(2)]);
  // Hashes by a schema of before are made anew.
  const { topics, ...rest } = saved.manifest();
  const partitions = topics.riders!.partitions.map((one) => ({ ...one, hash: '0'.repeat(64) }));
  writeManifest(saved.dir, { ...rest, topics: { ...topics, riders: { hash_schema: 'older', partitions } } });
  expect(await saved.save({}, [rejectAt(1), rejectAt(3)])).toMatchObject({ records: 3, rejected: 1 });
  expect(saved.archive.rejected()).toEqual([rejectAt(1), rejectAt(3)]);
  await using whole = await TestArchive.make();
  await archiveSave(saved.log(), async () => {}, whole.dir, { signal: new AbortController().signal });
  expect(hashes(saved.manifest())).toEqual(hashes(readManifest(whole.dir)!));
  expect(await checkArchive(saved.dir)).toMatchObject({ records: 7, rejected: 2, problems: [], more: [] });
});

test('a save that goes on with an archive refuses a log that was made anew, however far it goes, and one whose topic grew', async () => {
  await using saved = await SavedArchive.saved();
  saved.identity = 'another log';
  await expect(saved.save()).rejects.toThrow('it is of another log, or the topics were deleted and made again since');
  saved.identity = null;
  await saved.source.removeFiles('riders');
  await saved.source.createTopics(2);
  await expect(saved.save()).rejects.toThrow(/its riders\/\d goes on to offset \d, the log holds 0 to/);
  for (const partition of [0, 1])
    await saved.source.write(
      [0, 1, 2, 3, 4].map((offset) => ({ topic: 'riders', ...rider(`x${offset}`, 5), partition, offset })),
    );
  const another = /its last record of riders\/\d, at offset \d, is another one in the log/;
  await expect(saved.save()).rejects.toThrow(another);
  await saved.source.addPartition('riders');
  await expect(saved.save()).rejects.toThrow('riders has 3 partitions in the log, and 2 in the archive');
});

test('a save that goes on with an archive refuses a registry in which an id has become another schema since values by it were kept', async () => {
  await using saved = await SavedArchive.make();
  const saveBy = async (fingerprint: string) => {
    await saved.source.append('riders', 0, [{ ...rider('e'), rawValue: Buffer.from('by schema 7') }]);
    const schemaOf = () => ({ id: 7, fingerprint, schema: '"int"', references: [] });
    return saved.save({ schemaOf, compactionLagMs: async () => 60_000 });
  };
  const [one, another] = ['0011223344556677', '8899aabbccddeeff'] as const;
  for (const records of [5, 1]) expect(await saveBy(one)).toMatchObject({ records });
  await expect(saveBy(another)).rejects.toThrow(
    'Cannot save to the archive: schema id 7 is another schema in it than in the registry; save to an empty folder',
  );
});

test('a save that goes on with an archive is the only one at a time; the lock of a process that has ended counts for nothing', async () => {
  await using saved = await SavedArchive.make();
  const unlock = lockArchive(saved.dir, 'archive save');
  const held = `archive save: archive save \\(process ${process.pid} on .*\\) has been writing this folder since`;
  await expect(saved.save()).rejects.toThrow(new RegExp(held));
  unlock();
  const write = (more: object) =>
    writeFileSync(`${saved.dir}/.lock`, JSON.stringify({ host: hostname(), started: '1', command: 'x', ...more }));
  // Of no process, and of a process with the id of another that started at another time.
  for (const pid of [999_999_999, process.pid]) {
    write({ pid });
    await saved.save();
  }
  write({ pid: 999_999_999, host: 'elsewhere' });
  await expect(saved.save()).rejects.toThrow(`stop it, or remove ${saved.dir}/.lock if that process is no more`);
});
