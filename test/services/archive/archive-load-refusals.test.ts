import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { lockArchive } from '../../../infra/archive/format/archive-lock.ts';
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
describe('an archive that is not as its manifest says is neither loaded nor served', () => {
  test('with a file missing, cut, altered or foreign', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    await expectLoads(saved.dir);
    expect(await serve(saved.dir)).toEqual([]);
    const [file, other] = (await saved.archive.files('riders')) as [string, string];
    const bytes = readFileSync(file);

    writeFileSync(file, bytes.subarray(0, -1));
    await expectRefused(saved.dir, file, `it has ${bytes.length - 1} bytes, and the manifest says ${bytes.length}`);
    rmSync(file);
    await expectRefused(saved.dir, file, 'it is not there; the manifest says 3 records');
    writeFileSync(file, bytes);
    const foreign = file.replace('0.avro', '1.avro');
    writeFileSync(foreign, bytes);
    await expectRefused(saved.dir, foreign, 'the manifest does not list it');
    rmSync(foreign);
    rmSync(other);
    await expectRefused(saved.dir, other, 'it is not there; the manifest says 1 record');
    rmSync(`${saved.dir}/manifest.json`);
    await expectLoads(saved.dir);
  });

  test('with a manifest that can not be read', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const path = `${saved.dir}/manifest.json`;
    const text = readFileSync(path, 'utf8');
    const isNo = 'it is no';
    for (const [wrong, why] of [
      ['x', isNo],
      [text.replace('"version": 1', '"version": 9'), isNo],
      [text.replace('"exact_since": "2', '"exact_since": "1'), 'its checksum is not that of its content'],
    ] as const) {
      writeFileSync(path, wrong);
      await expect(load(saved.dir)).rejects.toThrow(`Cannot read ${path}: ${why}`);
      await expect(serve(saved.dir)).rejects.toMatchObject({ name: 'SettingsError' });
    }
  });

  test('with more than one thing wrong: the first is named, and how to see the others', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    rmSync(`${saved.dir}/ride-calendar.nights`, { recursive: true });
    rmSync(`${saved.dir}/ride-calendar.rides`, { recursive: true });
    await expect(load(saved.dir)).rejects.toThrow(`(and 3 more: ride-calendar archive check ${saved.dir})`);
  });

  test('while archive forget rewrites it, or was killed at that', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const unlock = lockArchive(saved.dir, 'archive forget');
    await expect(load(saved.dir)).rejects.toThrow('is rewriting it; wait for it');
    await expect(serve(saved.dir)).rejects.toMatchObject({ name: 'SettingsError' });
    unlock();
    const manifest = readFileSync(`${saved.dir}/manifest.json`, 'utf8');
    writeFileSync(`${saved.dir}/.forget.json`, JSON.stringify({ files: [], manifest }));
    await expect(load(saved.dir)).rejects.toThrow('archive forget was ended by force: call it again');
    await expect(serve(saved.dir)).rejects.toMatchObject({ name: 'SettingsError' });
  });

  test('where folders of another prefix lie beside those that the manifest is about', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    for (const topic of ['riders', 'nights'])
      cpSync(`${saved.dir}/ride-calendar.${topic}`, `${saved.dir}/other.${topic}`, { recursive: true });
    const serving = assertReadable(saved.dir, 'other.', false, { warn: () => undefined });
    await expect(serving).rejects.toThrow('its manifest.json is of the folders ride-calendar.…, not of other.…');
  });

  test('where it is the sample, whose fix is another', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    await saved.flip((await saved.archive.files('riders'))[0]!);
    await expect(serve(saved.dir, true)).rejects.toThrow(/\. DATA_DIR: remove \S+, and it is made anew$/);
  });
});

describe('a command that reads an archive', () => {
  const asOf = ['--as-of', '2026-01-01T00:00:00Z'];

  test.each([[['replay', ...asOf]], [['export', '/tmp/never-made', ...asOf]], [['rejected', 'list']]])(
    'names what the user gave where the archive is damaged: %j',
    async (args) => {
      await using saved = await SavedArchive.make();
      await saved.save();
      await saved.flip((await saved.archive.files('riders'))[0]!);
      const given = await heard((io) => runCli([...args, '--archive', saved.dir], io, {}));
      expect([given.code, given.err.join()]).toEqual([
        2,
        expect.stringContaining('--archive: put it back from a copy'),
      ]);
      const set = await heard((io) => runCli(args, io, { ARCHIVE_DIR: saved.dir }));
      expect([set.code, set.err.join()]).toEqual([2, expect.stringContaining('ARCHIVE_DIR: put it back from a copy')]);
    },
  );

  test('refuses one that was saved under another prefix', async () => {
    await using saved = await SavedArchive.make();
    await saved.save({ prefix: 'other.' });
    const replay = await heard((io) => runCli(['replay', ...asOf, '--archive', saved.dir], io, {}));
    const why = 'it holds no folder of a topic (ride-calendar.<topic>), but of KAFKA_TOPIC_PREFIX other.';
    expect([replay.code, replay.err.join()]).toEqual([2, expect.stringContaining(why)]);
  });
});

describe('an archive that goes on behind its manifest', () => {
  test('is served and loaded, with a warning unless a save is writing it', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const writer = await writerIn(saved.dir);
    writer.append('riders', { ...rider('e'), partition: 0, offset: 3 });
    await writer.close();
    const [file] = await saved.archive.files('riders');
    const unfinished = `${file}: it has more than the manifest says: a save was ended by force`;
    expect(await serve(saved.dir)).toEqual([`${unfinished}; archive save takes it up. It is read as well`]);
    await expectLoads(saved.dir);
    const unlock = lockArchive(saved.dir, 'archive save');
    expect(await serve(saved.dir)).toEqual([]);
    await expectLoads(saved.dir);
    unlock();
  });

  test('is warned of once, however many files go on', async () => {
    await using saved = await SavedArchive.make();
    await saved.save();
    const writer = await writerIn(saved.dir);
    writer.append('riders', { ...rider('e'), partition: 0, offset: 3 });
    writer.append('riders', { ...rider('f'), partition: 1, offset: 9 });
    await writer.close();
    const more = `archive save takes it up (and 1 more: ride-calendar archive check ${saved.dir}). It is read as well`;
    expect(await serve(saved.dir)).toEqual([expect.stringContaining(more)]);
  });
});

describe('an archive without a manifest', () => {
  test('is served and loaded as it is', async () => {
    await using archive = await TestArchive.make(1);
    await archive.append('riders', 0, [rider('a'), rider('b')]);
    await expectLoads(archive.dir);
    expect(await serve(archive.dir)).toEqual([]);
    const [file] = (await archive.files('riders')) as [string];
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, -3));
    await expectLoads(archive.dir);
    expect(await serve(archive.dir)).toEqual([]);
  });

  test('that has no folder of a topic is refused for that', async () => {
    await using archive = await TestArchive.make();
    mkdirSync(`${archive.dir}/nothing`);
    await expect(load(archive.dir)).rejects.toThrow('it holds no folder of a topic');
    expect(await serve(archive.dir)).toEqual([]);
  });
});
