import { chmod, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../../../infra/archive/format/make-folder.ts';
import { TestArchive } from '../../../support/worlds/archive.ts';

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test('a folder is made with those above it for its owner alone, and stays open if it was opened', async () => {
  await using archive = await TestArchive.make(1);
  // Riders and secret places are in it.
  expect(await modeOf(archive.folder('riders'))).toBe(0o700);
  const path = join(archive.dir, 'a', 'b');
  makeFolder(path, 'DATA_DIR');
  expect([await modeOf(path), await modeOf(dirname(path))]).toEqual([0o700, 0o700]);
  await chmod(path, 0o755);
  makeFolder(path, 'DATA_DIR');
  expect(await modeOf(path)).toBe(0o755);
  await writeFile(join(path, 'file'), '');
  expect(() => makeFolder(join(path, 'file', 'below'), 'DATA_DIR')).toThrow(
    `Cannot make the folder ${path}/file/below: ENOTDIR; DATA_DIR: name one that can be made`,
  );
});
