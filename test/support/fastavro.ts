import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { needPackage } from '../../infra/local/debian-packages.ts';

/** A Python that has fastavro, an Avro library that shares nothing with ours (from PyPI). */

const version = '1.13.1';
const cache = path.resolve(import.meta.dirname, '../../.cache');
const venv = path.join(cache, `fastavro-${version}`);

const run = promisify(execFile);

/** Runs a Python script in a folder, and resolves with what it printed. Installs fastavro into .cache/ the first time. */
export async function runWithFastavro(script: string, cwd: string): Promise<string> {
  await install();
  const { stdout } = await run(path.join(venv, 'bin/python'), ['-c', script], { cwd, maxBuffer: 64 << 20 });
  return stdout;
}

async function install(): Promise<void> {
  if (existsSync(path.join(venv, 'installed'))) return;
  await mkdir(cache, { recursive: true });
  await needPackage({
    name: "Python's venv",
    debianPackage: 'python3-venv',
    instead: 'give Python 3.10 or newer with venv on the path',
    isThere: () => run('python3', ['-c', 'import ensurepip, venv']).then(Boolean, () => false),
  });
  try {
    await run('python3', ['-m', 'venv', '--clear', venv]);
    await run(path.join(venv, 'bin/pip'), ['install', '--quiet', `fastavro==${version}`], { maxBuffer: 16 << 20 });
    await writeFile(path.join(venv, 'installed'), '');
  } catch (cause) {
    throw new Error('Cannot install fastavro: it needs Python 3.10 or newer, and PyPI', { cause });
  }
}
