import { execFileSync } from 'node:child_process';
import { readFile, rename, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { ArchiveError } from '../../../../infra/archive/format/archive-files.ts';
import { runArchiveCheck } from '../../../../services/archive/archive-check.ts';
import { runArchiveForget } from '../../../../services/archive/archive-forget.ts';
import { archiveSave } from '../../../../services/archive/save-log.ts';
import { loadSettings } from '../../../../services/settings/settings.ts';
import { heard } from '../../../support/processes/heard.ts';
import { archivedRider, readArchive, TestArchive } from '../../../support/worlds/archive.ts';
import { emptyLog, load } from '../../../support/worlds/archive-load.ts';

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

test('a pipe in an archive is refused, and not waited for', async () => {
  await using archive = await archiveOfRider();
  const path = join(archive.dir, 'ride-calendar.riders', '1-00000000000000000000.avro');
  execFileSync('mkfifo', [path]);
  await expect(commands.check!(archive.dir)).rejects.toThrow(`${path} is neither file nor folder`);
});

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
