import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { pythonWith } from './python-package.ts';

const run = promisify(execFile);

/** Runs a Python script that may import fastavro, an Avro library that shares nothing with ours. Resolves with what it printed. */
export async function runWithFastavro(script: string, cwd: string): Promise<string> {
  const programs = await pythonWith('fastavro', '1.13.1');
  const { stdout } = await run(path.join(programs, 'python'), ['-c', script], { cwd, maxBuffer: 64 << 20 });
  return stdout;
}
