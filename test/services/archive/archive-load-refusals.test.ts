import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { journalPath } from '../../../infra/archive/format/archive-journal.ts';
import { runArchiveLoad } from '../../../services/archive/archive-load.ts';
import { assertReadable } from '../../../services/backends/readable-archive.ts';
import { runCli } from '../../../services/command-line.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { tarpit } from '../../support/servers/tarpit.ts';
import { TestArchive, writerIn } from '../../support/worlds/archive.ts';
import { rider, SavedArchive } from '../../support/worlds/saved-archive.ts';

/** Nobody listens there, and nobody is asked. */
const settings = loadSettings({ KAFKA_BROKERS: '127.0.0.1:1', LOG_LEVEL: 'silent' });
const load = (dir: string) => heard((io) => runArchiveLoad({ dir }, settings, io));

/** Serving refuses or takes an archive as the command line does; what it warns of. */
async function serve(dir: string, isSample = false): Promise<string[]> {
  const warnings: string[] = [];
  await assertReadable(dir, 'ride-calendar.', isSample, { warn: (message) => void warnings.push(message) });
  return warnings;
}

/** Loading gets as far as Kafka. */
async function expectLoads(dir: string): Promise<void> {
  const [pit, stop] = [await tarpit(), new AbortController()];
  void pit.caught.then(() => stop.abort());
  const kafka = loadSettings({ KAFKA_BROKERS: pit.address, LOG_LEVEL: 'silent' });
  const { code, err } = await heard((io) => runArchiveLoad({ dir }, kafka, io), stop.signal);
  pit.close();
  expect([code, err]).toEqual([1, ['Stopped before the end: call it again with --append to go on']]);
}

/** Both name the file, and what is wrong with it. */
async function expectRefused(dir: string, file: string, problem: string): Promise<void> {
  const said = `the archive ${dir}: ${file}: ${problem}`;
  await expect(load(dir)).rejects.toThrow(`Cannot load ${said}`);
  await expect(load(dir)).rejects.toThrow('Nothing was loaded: put it back from a copy');
  await expect(serve(dir)).rejects.toMatchObject({ name: 'SettingsError', message: expect.stringContaining(said) });
}

// docs/rules.md#archive-read
test('an archive is neither loaded nor served with a file missing, cut or foreign, or where archive forget was killed', async () => {
  await using saved = await SavedArchive.make();
  await saved.save();
  await expectLoads(saved.dir);
  expect(await serve(saved.dir)).toEqual([]);
  const [file, other] = (await saved.archive.files('riders')) as [string, string];
  const bytes = readFileSync(file);

  writeFileSync(journalPath(saved.dir), '');
  await expectRefused(saved.dir, journalPath(saved.dir), 'archive forget was ended by force: call it again');
  rmSync(journalPath(saved.dir));
  writeFileSync(file, bytes.subarray(0, -1));
  await expectRefused(saved.dir, file, `it has ${bytes.length - 1} bytes, and the manifest says ${bytes.length}`);
  rmSync(file);
  await expectRefused(saved.dir, file, 'it is not there; the manifest says 3 records');
  rmSync(other);
  await expect(load(saved.dir)).rejects.toThrow(`(and 1 more: ride-calendar archive check ${saved.dir})`);
  writeFileSync(file, bytes);
  const foreign = file.replace('0.avro', '1.avro');
  writeFileSync(foreign, bytes);
  await expectRefused(saved.dir, foreign, 'the manifest does not list it');
  await expect(serve(saved.dir, true)).rejects.toThrow(/\. DATA_DIR: remove \S+, and it is made anew$/);
});

const asOf = ['--as-of', '2026-01-01T00:00:00Z'];

test('a command that reads an archive names what the user gave where that is damaged', async () => {
  await using saved = await SavedArchive.make();
  await saved.save();
  await saved.flip((await saved.archive.files('riders'))[0]!);
  for (const args of [
    ['replay', ...asOf],
    ['export', '/tmp/never-made', ...asOf],
    ['rejected', 'list'],
  ]) {
    const given = await heard((io) => runCli([...args, '--archive', saved.dir], io, {}));
    expect([given.code, given.err.join()]).toEqual([2, expect.stringContaining('--archive: put it back from a copy')]);
    const set = await heard((io) => runCli(args, io, { ARCHIVE_DIR: saved.dir }));
    expect([set.code, set.err.join()]).toEqual([2, expect.stringContaining('ARCHIVE_DIR: put it back from a copy')]);
  }
});

test('a command that reads an archive refuses one that was saved under another prefix', async () => {
  await using saved = await SavedArchive.make();
  await saved.save({ prefix: 'other.' });
  const replay = await heard((io) => runCli(['replay', ...asOf, '--archive', saved.dir], io, {}));
  const why = 'it holds no folder of a topic (ride-calendar.<topic>), but of KAFKA_TOPIC_PREFIX other.';
  expect([replay.code, replay.err.join()]).toEqual([2, expect.stringContaining(why)]);
});

test('an archive that goes on behind its manifest is served and loaded, with one warning', async () => {
  await using saved = await SavedArchive.make();
  await saved.save();
  const writer = await writerIn(saved.dir);
  writer.append('riders', { ...rider('e'), partition: 0, offset: 3 });
  writer.append('riders', { ...rider('f'), partition: 1, offset: 9 });
  await writer.close();
  const [file] = await saved.archive.files('riders');
  const more = `a save is at work, or was killed; the next one cuts that off (and 1 more: ride-calendar archive check ${saved.dir})`;
  const said = `${file}: it has more than the manifest says: ${more}. It is read as well`;
  expect(await serve(saved.dir)).toEqual([said]);
  await expectLoads(saved.dir);
});

test('an archive without a manifest is served and loaded as it is, one without topics is refused for that', async () => {
  await using archive = await TestArchive.make();
  await expect(load(archive.dir)).rejects.toThrow('it holds no folder of a topic');
  expect(await serve(archive.dir)).toEqual([]);
  await archive.createTopics(1);
  await archive.append('riders', 0, [rider('a'), rider('b')]);
  const [file] = (await archive.files('riders')) as [string];
  writeFileSync(file, readFileSync(file).subarray(0, -3));
  await expectLoads(archive.dir);
  expect(await serve(archive.dir)).toEqual([]);
});
