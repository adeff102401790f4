import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, symlink } from 'node:fs/promises';
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

const first = '0-00000000000000000000.avro';
/** What stands in place of a file or folder of an archive, by what is said of it. `outside`: where a link leads. */
const odd: Record<string, (path: string, outside: string) => Promise<unknown>> = {
  'is a link; put what it points to in its place, or take it out of the archive': async (path, outside) => {
    const target = join(outside, basename(path));
    await rename(path, target).catch(() => undefined);
    await symlink(target, path);
  },
  'is neither file nor folder': async (path) => execFileSync('mkfifo', [path]),
  'is a folder; take it out of the archive': (path) => mkdir(path, { recursive: true }),
};
const [link, pipe, folder] = Object.keys(odd) as [string, string, string];

// docs/rules.md#archive-files
test.each([
  ...['ride-calendar.riders', `ride-calendar.riders/${first}`, 'ride-calendar.rejected'].map((name) => [name, link]),
  ...['ride-calendar.riders/1-00000000000000000000.avro', 'manifest.json', '.lock'].map((name) => [name, pipe]),
  ...['riders/9-00000000000000000000', 'rejected/x'].map((name) => [`ride-calendar.${name}.avro`, folder]),
  ...[`ride-calendar.riders/.${first}.forgotten`, 'manifest.json', '.lock'].map((name) => [name, folder]),
] as [string, string][])('an archive in which %s %s is refused by every command', async (name, words) => {
  await using archive = await archiveOfRider();
  await using outside = await TestArchive.make();
  const path = join(archive.dir, name);
  await odd[words]!(path, outside.dir);
  const before = await contentOf(outside.dir);
  for (const [command, run] of Object.entries(commands)) {
    const refused = (await run(archive.dir).catch((error) => error)) as Error;
    expect([command, refused]).toEqual([command, expect.any(ArchiveError)]);
    expect(refused.message).toContain(`Cannot use the archive: ${path} ${words}`);
  }
  expect(await contentOf(outside.dir)).toEqual(before);
});

const lies: Record<string, (manifest: ArchiveManifest) => void> = {
  'another archive’s prefix': (manifest) => {
    manifest.prefix = '../victim/ride-calendar.';
  },
  'another archive’s file': ({ topics }) => {
    topics.riders!.partitions[0]!.files[0]!.name = '../../victim/ride-calendar.riders/0-00000000000000000000.avro';
  },
  'another archive’s bad records': ({ rejected }) => {
    rejected.push({ name: '../../victim/manifest.json', records: 1, bytes: 1, sha256: '0'.repeat(64) });
  },
};

// docs/rules.md#archive-files
test.each(Object.entries(lies))(
  'a manifest that names %s is refused by every command, and nothing there changes',
  async (_, lie) => {
    await using saved = await SavedArchive.saved();
    await using around = await TestArchive.make();
    const [dir, victim] = [join(around.dir, 'hostile'), join(around.dir, 'victim')];
    for (const to of [dir, victim]) await cp(saved.dir, to, { recursive: true });
    const manifest = readManifest(dir)!;
    lie(manifest);
    writeManifest(dir, manifest);
    const before = await contentOf(victim);
    const asks = [
      `archive forget a ${dir}`,
      `archive check ${dir}`,
      `archive load ${dir}`,
      `replay --as-of 2026-01-01T00:00:00Z --archive ${dir}`,
    ];
    for (const ask of asks) {
      const env = ask.includes('load') ? { KAFKA_BROKERS: '127.0.0.1:1' } : {};
      const { code, out, err } = await heard((io) => runCli(ask.split(' '), io, env));
      const said = expect.stringMatching(/leads out of|no folder of a topic/);
      expect([ask, code > 0, out, err.join()]).toEqual([ask, true, [], said]);
    }
    expect(await contentOf(victim)).toEqual(before);
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
