import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '../../../infra/archive/write-atomically.ts';
import { defaultTopicPrefix } from '../../../schemas/events/records.ts';

/** What `simulate` records about an archive that it made. */
export interface SimulatedArchive {
  /** The text of a developer key that is live in the archive. It is made up, and can be computed from the seed. */
  developerKey: string;
  /** A rider with nights, friends and flags around the day it was made for; null once they were forgotten. */
  rider: string | null;
}

const fileName = 'simulated.json';

/**
 * Marks a complete archive as made up. Its riders are not real, so `start` may let anybody pick one
 * (docs/rules.md#picking-a-rider).
 */
export async function markSimulated(
  dir: string,
  { developerKey, rider }: SimulatedArchive,
  prefix = defaultTopicPrefix,
): Promise<void> {
  const mark = { developerKey, rider, riders: await ridersDigest(dir, prefix) };
  writeMark(dir, mark);
}

const writeMark = (dir: string, mark: object): void =>
  writeAtomically(join(dir, fileName), `${JSON.stringify(mark, null, 2)}\n`);

/**
 * Calls what takes a rider out of an archive, and out of its mark. What was made up before is so afterwards: the riders
 * that are left are those that `simulate` wrote.
 */
export async function forgettingInMark<T>(
  { dir, prefix, rider }: { dir: string; prefix: string; rider: string },
  forget: () => Promise<T>,
): Promise<T & { example: boolean }> {
  const isMadeUp = (await simulatedMark(dir, prefix)) !== null;
  const result = await forget();
  const mark = await readMark(dir);
  if (mark === null) return { ...result, example: false };
  const example = mark.rider === rider;
  const riders = isMadeUp ? await ridersDigest(dir, prefix) : mark.riders;
  if (example || riders !== mark.riders) writeMark(dir, { ...mark, riders, rider: example ? null : mark.rider });
  return { ...result, example };
}

/**
 * The mark of an archive. Null if there is none, or if its riders are no longer those that `simulate` wrote, because
 * others were saved or copied to the folder since.
 */
export async function simulatedMark(dir: string, prefix = defaultTopicPrefix): Promise<SimulatedArchive | null> {
  const mark = await readMark(dir);
  if (mark === null || mark.riders !== (await ridersDigest(dir, prefix))) return null;
  const { developerKey, rider } = mark;
  return { developerKey, rider };
}

async function readMark(dir: string): Promise<(SimulatedArchive & { riders: string }) | null> {
  try {
    const mark = JSON.parse(await readFile(join(dir, fileName), 'utf8'));
    const texts = [mark?.developerKey, mark?.rider ?? '', mark?.riders];
    return texts.every((text) => typeof text === 'string') ? mark : null;
  } catch {
    return null;
  }
}

/** A digest of the names and bytes of all files with riders. A rider is anybody who has a record there. */
async function ridersDigest(dir: string, prefix: string): Promise<string | null> {
  const folder = join(dir, `${prefix}riders`);
  const digest = createHash('sha256');
  try {
    for (const name of (await readdir(folder)).sort()) {
      digest.update(`${name}\n`).update(
        createHash('sha256')
          .update(await readFile(join(folder, name)))
          .digest(),
      );
    }
    return digest.digest('hex');
  } catch {
    return null;
  }
}
