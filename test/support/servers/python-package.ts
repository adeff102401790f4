import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { needProgram } from '../../../infra/local/debian-packages.ts';

/** Where tests keep what they download. */
const cache = path.resolve(import.meta.dirname, '../../../.cache');

const run = promisify(execFile);

/** The programs of a Python with a package from PyPI and `others` (`name==version`), installed into .cache/ the first time. */
export async function pythonWith(name: string, version: string, ...others: string[]): Promise<string> {
  // Each set of packages has a folder: another test's may have been installed with fewer.
  const venv = path.join(cache, [`${name}-${version}`, ...others].join('+').replaceAll('==', '-'));
  const programs = path.join(venv, 'bin');
  if (existsSync(path.join(venv, 'installed'))) return programs;
  await mkdir(cache, { recursive: true });
  const isThere = () => run('python3', ['-c', 'import ensurepip, venv']).then(Boolean, () => false);
  await needProgram("Python's venv", 'python3-venv', 'give Python 3.10 or newer with venv on the path', isThere);
  try {
    await run('python3', ['-m', 'venv', '--clear', venv]);
    // Compiling thousands of modules that no test imports would be most of the work.
    const install = ['install', '--quiet', '--no-compile', `${name}==${version}`, ...others];
    await run(path.join(programs, 'pip'), install, { maxBuffer: 16 << 20 });
    await writeFile(path.join(venv, 'installed'), '');
  } catch (cause) {
    throw new Error(`Cannot install ${name}: it needs Python 3.10 or newer, and PyPI`, { cause });
  }
  return programs;
}
