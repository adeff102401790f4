import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../infra/archive/make-folder.ts';
import { defaultTopicPrefix } from '../../../schemas/events/records.ts';
import { dayText, parseDay } from '../../../schemas/views/days.ts';
import { inDataDir } from '../../settings/data-dir.ts';
import { generatorVersion, simulation } from '../../simulate/simulation.ts';
import { archiveSink } from '../../simulate/sinks.ts';
import { defaultSizes } from '../../simulate/sizes.ts';
import { dayMs } from '../../simulate/world.ts';
import { markSimulated } from './simulated-mark.ts';

/** The archive's folder, a developer key that is live in it, and a rider with nights, friends and flags around today. */
interface SampleArchive {
  dir: string;
  developerKey: string;
  rider: string;
}

/** A sample's calendar goes 40 days ahead, so after a week there is still plenty to see. */
const ageDaysMax = 7;
const forgottenMs = 30 * dayMs;
const unfinishedMs = dayMs / 24;
const unfinishedPrefix = 'sample-unfinished-';

/**
 * The archive of the embedded default: a made-up calendar around `now` (milliseconds since the epoch). It is made once
 * in `dataDir` and used for a week. Each sample is in `sample-<day>-v<version>`, which appears complete or not at all,
 * so a crash or a second process leaves no half sample. The folders of topics have `prefix` in their names.
 */
export async function ensureSampleArchive(options: {
  dataDir: string;
  now: number;
  prefix?: string;
}): Promise<SampleArchive> {
  const { dataDir, now, prefix = defaultTopicPrefix } = options;
  const today = Math.floor(now / dayMs);
  makeFolder(dataDir, 'DATA_DIR');
  return inDataDir(
    dataDir,
    async () => (await recentSample(dataDir, prefix, today)) ?? (await makeSample(dataDir, prefix, today)),
  );
}

async function recentSample(dataDir: string, prefix: string, today: number): Promise<SampleArchive | null> {
  for (let day = today; day >= today - ageDaysMax; day--) {
    const sample = await readSample(join(dataDir, folderName(day, prefix)));
    if (sample) return sample;
  }
  return null;
}

/** A sample with another prefix is a separate one, because its folders have other names. */
const folderName = (day: number, prefix: string): string =>
  `sample-${dayText(day)}-v${generatorVersion}${prefix === defaultTopicPrefix ? '' : `-${prefix}`}`;

/** Null if there is none, or its notes cannot be read. */
async function readSample(folder: string): Promise<SampleArchive | null> {
  try {
    const notes = JSON.parse(await readFile(join(folder, 'sample.json'), 'utf8')) as Partial<SampleArchive>;
    if (typeof notes.developerKey !== 'string' || typeof notes.rider !== 'string') return null;
    return { dir: join(folder, 'archive'), developerKey: notes.developerKey, rider: notes.rider };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function makeSample(dataDir: string, prefix: string, today: number): Promise<SampleArchive> {
  await forgetOldSamples(dataDir);
  const draft = await mkdtemp(join(dataDir, unfinishedPrefix));
  const made = simulation({ ...defaultSizes, today });
  const sink = archiveSink({ dir: join(draft, 'archive'), prefix });
  try {
    for (const record of made.initial()) await sink.add(record);
    await sink.complete();
  } finally {
    await sink.close();
  }
  const { developerKey, rider } = made;
  await markSimulated(join(draft, 'archive'), { developerKey, rider }, prefix);
  await writeFile(join(draft, 'sample.json'), `${JSON.stringify({ developerKey, rider }, null, 2)}\n`);
  const folder = join(dataDir, folderName(today, prefix));
  try {
    await rename(draft, folder);
  } catch (error) {
    // Another process was first. Its sample has the same records.
    const theirs = await readSample(folder);
    if (!theirs) {
      await rm(folder, { recursive: true, force: true });
      await rename(draft, folder).catch(() => {
        throw error;
      });
    } else await rm(draft, { recursive: true, force: true });
  }
  return { dir: join(folder, 'archive'), developerKey, rider };
}

/** Removes samples that are older than a month, and what crashed processes left. Younger ones may still be in use. */
async function forgetOldSamples(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const unfinished = name.startsWith(unfinishedPrefix);
    const day = /^sample-(\d{4}-\d{2}-\d{2})-v\d+(-.+)?$/.exec(name)?.[1];
    if (!unfinished && (day === undefined || parseDay(day) === null)) continue;
    const path = join(dataDir, name);
    const ageMs = Date.now() - (await stat(path).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
    if (ageMs > (unfinished ? unfinishedMs : forgottenMs)) await rm(path, { recursive: true, force: true });
  }
}
