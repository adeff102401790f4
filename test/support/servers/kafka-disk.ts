import { readdir, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';

/** Where each batch of a log file begins, and its first offset. */
export async function batchesIn(path: string): Promise<{ start: number; offset: number }[]> {
  const bytes = await readFile(path);
  const batches = [];
  // A batch: base offset (8 bytes), length of what follows (4 bytes).
  for (let at = 0; at + 12 <= bytes.length; at += 12 + bytes.readInt32BE(at + 8)) {
    batches.push({ start: at, offset: Number(bytes.readBigInt64BE(at)) });
  }
  return batches;
}

/** The log file of a partition's folder that is written to. */
async function activeLog(folder: string): Promise<string> {
  const logs = (await readdir(folder)).filter((name) => name.endsWith('.log'));
  return join(folder, logs.sort().at(-1)!);
}

/** Cuts batches off a folder's end, as an unclean election does, while no broker runs. From which offset all is lost; null: there are fewer. */
export async function cutTail(folder: string, batches: number): Promise<number | null> {
  const log = await activeLog(folder);
  const cut = (await batchesIn(log)).at(-batches);
  if (!cut) return null;
  await truncate(log, cut.start);
  for (const index of ['index', 'timeindex', 'snapshot']) await rm(log.replace(/log$/, index), { force: true });
  return cut.offset;
}
