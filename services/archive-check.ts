import { join } from 'node:path';
import { ArchiveError, archivePrefix } from '../infra/archive/archive-files.ts';
import { isForgetting, journalPath } from '../infra/archive/archive-journal.ts';
import { lockHolder } from '../infra/archive/archive-lock.ts';
import { type ArchiveManifest, manifestName, readManifest } from '../infra/archive/archive-manifest.ts';
import { inspectArchive } from '../infra/archive/inspect-archive.ts';
import type { ArchiveProblem } from '../infra/archive/partition-inspection.ts';
import { countText } from '../projector/count-text.ts';
import type { Settings } from './settings/settings.ts';
import { asUsage } from './wiring/as-usage.ts';
import { needFolderName } from './wiring/empty-folder.ts';
import type { ExitCode, Io } from './wiring/io.ts';
import { percentOf, showProgress } from './wiring/progress.ts';

export interface ArchiveCheckOptions {
  dir: string;
  json?: boolean;
}

interface Checked {
  /** Whether there is a manifest to check against. */
  manifest: boolean;
  files: number;
  records: number;
  rejected: number;
  exact_since: string | null;
  problems: ArchiveProblem[];
}

/** Reads every record of an archive and compares its files with the manifest; 1 where something is not as it was saved. */
export async function runArchiveCheck(options: ArchiveCheckOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { dir, json } = options;
  needFolderName(dir, 'archive check', 'the folder of an archive');
  const progress = await showProgress(io, 'Read', 100);
  try {
    const checked = await asUsage(checkArchive(dir, settings.topicPrefix, io.signal, percentOf(progress)));
    progress.stop();
    if (json) io.out(JSON.stringify({ dir, ...checked }));
    else for (const line of linesOf(dir, checked)) io.out(line);
    return checked.problems.length > 0 ? 1 : 0;
  } finally {
    progress.stop();
  }
}

/** While an archive is being checked a save may bring its manifest up to date: what looks wrong is then looked at again. */
async function checkArchive(
  dir: string,
  wantedPrefix: string,
  signal: AbortSignal,
  onProgress: (progress: { done: number; total: number }) => void,
): Promise<Checked> {
  for (let attempt = 1; ; attempt++) {
    const holder = lockHolder(dir);
    if (holder?.command === 'archive forget') {
      throw new ArchiveError(
        `Cannot check ${dir}: archive forget (process ${holder.pid}) is rewriting it; wait for it`,
      );
    }
    const said = manifestOf(dir);
    const { manifest } = said;
    const prefix = manifest?.prefix ?? (await archivePrefix(dir, wantedPrefix));
    const beingWritten = holder !== null;
    const found = await inspectArchive({ dir, prefix, manifest, everything: true, beingWritten, signal, onProgress });
    const problems = [...said.problems, ...found.problems];
    const isNewer = JSON.stringify(manifestOf(dir).manifest) !== JSON.stringify(manifest);
    if (problems.length > 0 && (isNewer || (lockHolder(dir) !== null && !beingWritten)) && attempt < 3) continue;
    const { files, records, rejected } = found;
    const exact_since = manifest?.exact_since ?? null;
    return { manifest: manifest !== null, files, records, rejected, exact_since, problems };
  }
}

/** The manifest, and what is wrong with it. */
function manifestOf(dir: string): { manifest: ArchiveManifest | null; problems: ArchiveProblem[] } {
  if (isForgetting(dir)) {
    const problem = 'archive forget was ended by force: call it again, and it finishes';
    return { manifest: readManifest(dir), problems: [{ file: journalPath(dir), kind: 'unfinished', problem }] };
  }
  try {
    return { manifest: readManifest(dir), problems: [] };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return { manifest: null, problems: [{ file: join(dir, manifestName), kind: 'altered', problem: error.message }] };
  }
}

function linesOf(dir: string, { manifest, files, records, rejected, exact_since, problems }: Checked): string[] {
  const what = `${records} records in ${files} files, and ${rejected} bad ones: ${dir}`;
  const lines = problems.map(({ file, kind, problem }) => `${kind}: ${file}: ${problem}`);
  if (problems.length > 0) return [...lines, `${countText(problems.length, 'problem')}. Read ${what}`];
  if (!manifest) return [`Read ${what}. It has no ${manifestName}: what is missing or altered can't be told`];
  return [`As saved: ${what}${exact_since === null ? '' : `. It has every record since ${exact_since}`}`];
}
