import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeAtomically, writeFault } from '../../../../infra/archive/format/write-atomically.ts';
import { testFolder } from '../../../support/processes/test-folder.ts';

const dir = testFolder();

test('a file that cannot be written leaves none beside it, and of a full disk is said what to do', async () => {
  const path = join(dir, 'manifest.json');
  await mkdir(path);
  expect(() => writeAtomically(path, '{}')).toThrow(`Cannot write ${path}: EISDIR`);
  expect(await readdir(dir)).toEqual(['manifest.json']);
  for (const code of ['ENOSPC', 'EDQUOT'])
    expect(writeFault(path, Object.assign(new Error('full'), { code }))).toMatchObject({
      message: `Cannot write ${path}: full; make room on its disk, and call the command again`,
      code,
    });
});
