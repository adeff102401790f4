import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ArchiveError } from '../../infra/archive/format/archive-files.ts';
import { readManifest } from '../../infra/archive/format/archive-manifest.ts';
import { makeFolder } from '../../infra/archive/format/make-folder.ts';
import { defaultPartitioners } from '../../schemas/events/partitioner.ts';
import { defaultTopicPrefix } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { newArchive } from '../backends/new-archive.ts';
import { closing } from '../cli/closing.ts';
import { inDataDir } from '../settings/data-dir.ts';
import { generatorVersion, simulation } from './world/simulation.ts';
import { defaultSizes } from './world/sizes.ts';
import { dayMs } from './world/world.ts';

/** A sample's calendar goes 40 days ahead, so after a week there is still plenty to see. */
const ageDaysMax = 7;
const forgottenMs = 30 * dayMs;

/**
 * The archive of the embedded default: a made-up calendar around `now` (milliseconds since the epoch). It is made once
 * in `dataDir` and used for a week. Each sample is in `sample-<day>-v<version>`, which appears complete or not at all,
 * so a crash or a second process leaves no half sample. The folders of topics have `prefix` in their names. Returns the
 * archive's folder.
 */
export async function ensureSampleArchive(options: { dataDir: string; now: number; prefix?: string }): Promise<string> {
  const { dataDir, now, prefix = defaultTopicPrefix } = options;
  const today = Math.floor(now / dayMs);
  makeFolder(dataDir, 'DATA_DIR');
  return inDataDir(dataDir, async () => {
    for (let day = today; day >= today - ageDaysMax; day--) {
      const dir = archiveIn(join(dataDir, folderName(day, prefix)));
      if (isSample(dir)) return dir;
    }
    return makeSample(dataDir, prefix, today);
  });
}

/** A sample with another prefix is a separate one, because its folders have other names. */
const folderName = (day: number, prefix: string): string =>
  `sample-${dayText(day)}-v${generatorVersion}${prefix === defaultTopicPrefix ? '' : `-${prefix}`}`;

const archiveIn = (folder: string): string => join(folder, 'archive');

/** False if there is none, or its manifest cannot be read. */
function isSample(dir: string): boolean {
  try {
    return readManifest(dir)?.simulated !== undefined;
  } catch (error) {
    if (error instanceof ArchiveError) return false;
    throw error;
  }
}

async function makeSample(dataDir: string, prefix: string, today: number): Promise<string> {
  await forgetOldSamples(dataDir);
  const draft = await mkdtemp(join(dataDir, 'sample-unfinished-'));
  const made = simulation({ ...defaultSizes, today });
  const simulated = { developer_key: made.developerKey, rider: made.rider };
  const archive = newArchive({ dir: archiveIn(draft), prefix }, defaultPartitioners, simulated);
  await closing([archive], async () => {
    for (const record of made.initial()) archive.add(record);
    await archive.complete();
  });
  const folder = join(dataDir, folderName(today, prefix));
  try {
    await rename(draft, folder);
  } catch (error) {
    // Another process was first. Its sample has the same records.
    if (isSample(archiveIn(folder))) await rm(draft, { recursive: true, force: true });
    else {
      await rm(folder, { recursive: true, force: true });
      await rename(draft, folder).catch(() => {
        throw error;
      });
    }
  }
  return archiveIn(folder);
}

/** Removes what is older than a month: samples, and what crashed processes left. Younger ones may still be in use. */
async function forgetOldSamples(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!/^sample-(\d{4}-\d{2}-\d{2}-v\d|unfinished-)/.test(name)) continue;
    const path = join(dataDir, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > forgottenMs) await rm(path, { recursive: true, force: true });
  }
}
