import { manifestName } from '../infra/archive/archive-manifest.ts';
import { inspectSettled } from '../infra/archive/inspect-settled.ts';
import type { ArchiveProblem } from '../infra/archive/partition-inspection.ts';
import { countText } from '../projector/count-text.ts';
import type { Settings } from './settings/settings.ts';
import { asUsage } from './wiring/command/as-usage.ts';
import { needFolderName } from './wiring/command/empty-folder.ts';
import { type ExitCode, type Io, quietIf } from './wiring/command/io.ts';
import { percentOf, showProgress } from './wiring/command/progress.ts';

export interface ArchiveCheckOptions {
  dir: string;
  json?: boolean;
}

interface Checked {
  /** Whether there is a manifest to compare with. */
  manifest: boolean;
  files: number;
  records: number;
  rejected: number;
  exact_since: string | null;
  problems: ArchiveProblem[];
}

/** Reads every record of an archive and compares its files with the manifest. Exit code 1 if anything differs. */
export async function runArchiveCheck(options: ArchiveCheckOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { dir, json } = options;
  needFolderName(dir, 'archive check', 'the folder of an archive');
  const progress = await showProgress(quietIf(json, io), 'Read', 100);
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

async function checkArchive(
  dir: string,
  wantedPrefix: string,
  signal: AbortSignal,
  onProgress: (progress: { done: number; total: number }) => void,
): Promise<Checked> {
  const found = await inspectSettled({ dir, wantedPrefix, read: () => 'all', verb: 'check', signal, onProgress });
  const { manifest, files, records, rejected, problems } = found;
  return {
    manifest: manifest !== null,
    files,
    records,
    rejected,
    exact_since: manifest?.exact_since ?? null,
    problems,
  };
}

function linesOf(dir: string, { manifest, files, records, rejected, exact_since, problems }: Checked): string[] {
  const what = `${countText(records, 'record')} in ${countText(files, 'file')}, and ${rejected} set aside: ${dir}`;
  const lines = problems.map(({ file, kind, problem }) => `${kind}: ${file}: ${problem}`);
  if (problems.length > 0) return [...lines, `${countText(problems.length, 'problem')}. Read ${what}`];
  if (!manifest) return [`Read ${what}. It has no ${manifestName}: so what is missing or altered is not known`];
  return [`As saved: ${what}${exact_since === null ? '' : `. It has every record since ${exact_since}`}`];
}
