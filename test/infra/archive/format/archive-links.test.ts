import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { ArchiveError } from '../../../../infra/archive/format/archive-files.ts';
import {
  type ArchiveManifest,
  readManifest,
  writeManifest,
} from '../../../../infra/archive/format/archive-manifest.ts';
import { runArchiveCheck } from '../../../../services/archive/archive-check.ts';
import { runArchiveForget } from '../../../../services/archive/archive-forget.ts';
import { archiveSave } from '../../../../services/archive/save-log.ts';
import { runCli } from '../../../../services/command-line.ts';
import { loadSettings } from '../../../../services/settings/settings.ts';
import { heard } from '../../../support/processes/heard.ts';
import { archivedRider, readArchive, TestArchive } from '../../../support/worlds/archive.ts';
import { emptyLog, load } from '../../../support/worlds/archive-load.ts';
import { SavedArchive } from '../../../support/worlds/saved-archive.ts';

const settings = loadSettings({});
const commands: Record<string, (dir: string) => Promise<unknown>> = {
  check: (dir) => heard((io) => runArchiveCheck({ dir }, settings, io)),
  forget: (dir) => heard((io) => runArchiveForget({ rider: 'r0', dir }, settings, io)),
  load: (dir) => load(dir, emptyLog(1)),
  read: (dir) => readArchive(dir),
  save: (dir) => archiveSave(emptyLog(1), async () => {}, dir, { signal: new AbortController().signal }),
};

/** An archive of a rider. */
async function archiveOfRider(): Promise<TestArchive> {
  const archive = await TestArchive.make(1);
  await archive.append('riders', 0, [{ ...archivedRider(0), timestampMs: 1 }]);
  return archive;
}

// docs/rules.md#archive-files
test.each(['ride-calendar.riders', 'ride-calendar.riders/0-00000000000000000000.avro', 'ride-calendar.rejected'])(
  'an archive in which %s is a link is refused by every command, and nothing outside is changed',
  async (name) => {
    await using archive = await archiveOfRider();
    await using outside = await TestArchive.make();
    const [path, target] = [join(archive.dir, name), join(outside.dir, basename(name))];
    await rename(path, target).catch(() => undefined);
    await symlink(target, path);
    const file = name.endsWith('.avro') ? target : join(target, '0-00000000000000000000.avro');
    const before = await readFile(file).catch(() => null);
    for (const [command, run] of Object.entries(commands)) {
      const refused = (await run(archive.dir).catch((error) => error)) as Error;
      expect([command, refused]).toEqual([command, expect.any(ArchiveError)]);
      expect(refused.message).toBe(
        `Cannot use the archive: ${path} is a link; put what it points to in its place, or take it out of the archive`,
      );
    }
    expect(await readFile(file).catch(() => null)).toEqual(before);
  },
);

test.each(['ride-calendar.riders/1-00000000000000000000.avro', 'manifest.json', '.lock'])(
  'a pipe in an archive, %s, is refused, and not waited for',
  async (name) => {
    await using archive = await archiveOfRider();
    const path = join(archive.dir, name);
    execFileSync('mkfifo', [path]);
    await expect(commands.check!(archive.dir)).rejects.toThrow(`${path} is neither file nor folder`);
    await expect(commands.forget!(archive.dir)).rejects.toThrow(`${path} is neither file nor folder`);
  },
);

const names = [
  'riders/9-00000000000000000000.avro',
  'rejected/x.avro',
  'riders/.0-00000000000000000000.avro.forgotten',
];

// docs/rules.md#archive-files
test.each([...names.map((name) => `ride-calendar.${name}`), 'manifest.json', '.lock', '.manifest.json.forgotten'])(
  'a folder that has a file’s name, %s, is named with the fix by every command',
  async (name) => {
    await using archive = await archiveOfRider();
    const path = join(archive.dir, name);
    await mkdir(path, { recursive: true });
    for (const [command, run] of Object.entries(commands)) {
      const refused = (await run(archive.dir).catch((error) => error)) as Error;
      expect([command, refused.message]).toEqual([
        command,
        `Cannot use the archive: ${path} is a folder; take it out of the archive`,
      ]);
    }
  },
);

type Lies = (manifest: ArchiveManifest) => void;
const lies: Record<string, Lies> = {
  'another archive’s prefix': (manifest) => {
    manifest.prefix = '../victim/ride-calendar.';
  },
  'a prefix within a folder': (manifest) => {
    manifest.prefix = 'ride-calendar.riders/';
  },
  'another archive’s file': ({ topics }) => {
    topics.riders!.partitions[0]!.files[0]!.name = '../../victim/ride-calendar.riders/0-00000000000000000000.avro';
  },
  'the folder above': ({ topics }) => {
    topics.riders!.partitions[0]!.files[0]!.name = '..';
  },
  'another archive’s bad records': ({ rejected }) => {
    rejected.push({ name: '../../victim/manifest.json', records: 1, bytes: 1, sha256: '0'.repeat(64) });
  },
};

// docs/rules.md#archive-files
test.each(Object.entries(lies))(
  'a manifest that names %s is refused by every command, and nothing there changes',
  async (_, lie) => {
    await using saved = await SavedArchive.make();
    await saved.save();
    await using around = await TestArchive.make();
    const [dir, victim] = [join(around.dir, 'hostile'), join(around.dir, 'victim')];
    for (const to of [dir, victim]) await cp(saved.dir, to, { recursive: true });
    const manifest = readManifest(dir)!;
    lie(manifest);
    writeManifest(dir, manifest);
    // As in the report: all that is left of it is the manifest.
    const asked = [dir, join(around.dir, 'empty')];
    await cp(dir, asked[1]!, { recursive: true });
    for (const one of await readdir(asked[1]!))
      if (one !== 'manifest.json') await rm(join(asked[1]!, one), { recursive: true });
    const before = await contentOf(victim);
    const reads = { forget: (one: string) => heard((io) => runCli(['archive', 'forget', 'a', one], io, {})) };
    const inTurn = {
      ...reads,
      check: (one: string) => heard((io) => runCli(['archive', 'check', one], io, {})),
      replay: (one: string) =>
        heard((io) => runCli(['replay', '--as-of', '2026-01-01T00:00:00Z', '--archive', one], io, {})),
      list: (one: string) => heard((io) => runCli(['rejected', 'list', '--archive', one], io, {})),
      load: (one: string) => heard((io) => runCli(['archive', 'load', one], io, { KAFKA_BROKERS: '127.0.0.1:1' })),
    };
    for (const one of asked) {
      for (const [command, run] of Object.entries(inTurn)) {
        const { code, out, err } = await run(one);
        expect([command, code > 0, out, err.join()]).toEqual([
          command,
          true,
          [],
          expect.stringMatching(/leads out of|no folder of a topic/),
        ]);
      }
      expect(await contentOf(victim)).toEqual(before);
    }
  },
);

/** Each file's name and bytes. */
async function contentOf(dir: string): Promise<[string, string][]> {
  const found = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = found.filter((one) => one.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(files.sort().map(async (file) => [file, await readFile(file, 'latin1')] as [string, string]));
}

test('an archive that is reached by a link is used as any other', async () => {
  await using archive = await archiveOfRider();
  await using elsewhere = await TestArchive.make();
  const link = join(elsewhere.dir, 'archive');
  await symlink(archive.dir, link);
  expect((await readArchive(link)).records).toHaveLength(1);
  expect(await commands.check!(link)).toMatchObject({ code: 3 });
  expect(await commands.forget!(link)).toMatchObject({ code: 0 });
  expect((await archive.read()).records).toEqual([]);
});
