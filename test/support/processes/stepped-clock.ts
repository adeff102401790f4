import { existsSync, globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import type { Env } from './process.ts';

/** A wall clock of one process that can be stepped while it runs. Its monotonic clock goes on. */
export interface SteppedClock {
  /** For the process. */
  env: Env;
  /** How far from the machine's clock it is from now on: within a second. */
  step(seconds: number): Promise<void>;
}

/** By Debian's faketime. Null where it cannot be had. */
export async function steppedClock(folder: string): Promise<SteppedClock | null> {
  const library = await needProgram('faketime', 'faketime').then(
    () => globSync('/usr/lib/*/faketime/libfaketime.so.1')[0],
    () => undefined,
  );
  if (!library || !existsSync(library)) return null;
  const file = join(folder, 'clock');
  const step = (seconds: number): Promise<void> => writeFile(file, seconds < 0 ? String(seconds) : `+${seconds}`);
  await step(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    step,
  };
}
