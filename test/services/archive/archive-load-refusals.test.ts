import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { journalPath } from '../../../infra/archive/format/archive-journal.ts';
import { freePort } from '../../../infra/local/free-port.ts';
import { runArchiveLoad } from '../../../services/archive/archive-load.ts';
import { assertReadable } from '../../../services/backends/readable-archive.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { ran } from '../../support/processes/ran.ts';
import { tarpit } from '../../support/servers/tarpit.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { archiveOf, emptyLog, load as loadInto } from '../../support/worlds/archive-load.ts';
import { rider } from '../../support/worlds/records.ts';
import { SavedArchive } from '../../support/worlds/saved-archive.ts';

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

// docs/rules.md#archive-read
test('an archive that is not as its manifest says, or in which archive forget was killed, is neither loaded nor served', async () => {
  await using saved = await SavedArchive.saved();
  await expectLoads(saved.dir);
  expect(await serve(saved.dir)).toEqual([]);
  const [file, other] = (await saved.archive.files('riders')) as [string, string];
  const damages = [
    [journalPath(saved.dir), 'archive forget was ended by force: call it again'],
    [file, 'it has 1 bytes, and the manifest says'],
  ] as const;
  for (const [path, problem] of damages) {
    writeFileSync(path, 'x');
    const said = `the archive ${saved.dir}: ${path}: ${problem}`;
    await expect(load(saved.dir)).rejects.toThrow(`Cannot load ${said}`);
    await expect(load(saved.dir)).rejects.toThrow('Nothing was loaded: put it back from a copy');
    await expect(serve(saved.dir)).rejects.toThrow(said);
    const { code, err } = await ran(['rejected', 'list', '--archive', saved.dir]);
    expect([code, err.join()]).toEqual([2, expect.stringContaining('--archive: put it back from a copy')]);
    rmSync(path);
  }
  rmSync(other);
  await expect(load(saved.dir)).rejects.toThrow(`(and 1 more: ride-calendar archive check ${saved.dir})`);
  await expect(serve(saved.dir, true)).rejects.toThrow(/\. DATA_DIR: remove \S+, and it is made anew$/);
});

/** Commands that read an archive; `replay` opens it as all of the past do. */
const reading = (dir: string): string[] => [
  `archive check ${dir}`,
  `archive forget a ${dir}`,
  `replay --as-of 2026-01-01T00:00:00Z --archive ${dir}`,
  `rejected list --archive ${dir}`,
];

// docs/rules.md#archive-read
test('an archive without the folder of a topic: every command that reads it names that', async () => {
  await using archive = await archiveOf([['a', 1]]);
  rmSync(archive.folder('nights'), { recursive: true });
  const said = `${archive.folder('nights')}: there is no such folder: the topic counts as empty`;
  for (const command of reading(archive.dir)) {
    const { out, err } = await ran(command);
    expect([command, [...out, ...err].join('\n')]).toEqual([command, expect.stringContaining(said)]);
  }
  const warnings: string[] = [];
  await loadInto(archive.dir, emptyLog(1), { log: { warn: (message) => void warnings.push(message) } });
  await archive.open().bounds();
  expect([warnings, archive.warnings]).toEqual([[said], [said]]);
});

// docs/rules.md#archive-manifest
test('an exact_since that somebody moved is refused by every command that reads an archive', async () => {
  await using saved = await SavedArchive.saved();
  const path = `${saved.dir}/manifest.json`;
  writeFileSync(path, readFileSync(path, 'utf8').replace('"exact_since": "2', '"exact_since": "1'));
  const said = `Cannot read ${path}: its checksum is not that of its content`;
  for (const command of [...reading(saved.dir), `archive load ${saved.dir}`, 'projector', 'start']) {
    const log = command.startsWith('archive load') ? { KAFKA_BROKERS: '127.0.0.1:1' } : { ARCHIVE_DIR: saved.dir };
    const env = { PORT: String(await freePort()), LOG_LEVEL: 'silent', REDIS_URL: 'redis://127.0.0.1:1', ...log };
    const { code, out, err } = await ran(command, env);
    expect([command, code]).not.toEqual([command, 0]);
    expect([command, ...out, ...err].join('\n')).toContain(said);
  }
  await expect(saved.save()).rejects.toThrow(said);
});

test('an archive that goes on behind its manifest is served and loaded, with one warning', async () => {
  await using saved = await SavedArchive.saved();
  await saved.archive.write([
    { topic: 'riders', ...rider('e'), offset: 3 },
    { topic: 'riders', ...rider('f'), partition: 1, offset: 9 },
  ]);
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
