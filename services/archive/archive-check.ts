import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CheckedArchive, checkArchive, moreThanSaid } from '../../infra/archive/checking/check-archive.ts';
import { archivePrefix, manifestName } from '../../infra/archive/format/archive-manifest.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import type { Run } from '../cli/commands.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import { runWithProgress } from '../cli/progress.ts';

/**
 * Reads every record of an archive and compares its files with the manifest (docs/rules.md#archive-check). Exit code 1
 * if anything differs, 3 without a manifest; with `requireManifest` that is a problem too.
 */
export const runArchiveCheck: Run<{ dir: string; requireManifest?: boolean }> = async (options, settings, io) => {
  const { dir, json, requireManifest } = options;
  needFolderName(dir, 'archive check');
  return runWithProgress({ json, title: 'Read' }, io, async ({ update: onProgress }) => {
    const prefix = archivePrefix(dir, settings.topicPrefix);
    const { signal } = io;
    const found = await checkArchive({ dir, prefix, command: 'archive check', signal, onProgress }, true);
    const path = join(dir, manifestName);
    if (requireManifest && !existsSync(path))
      found.problems.unshift({ file: path, kind: 'missing', problem: 'so what is missing or altered is not known' });
    const { manifest, files, records, rejected, problems, more } = found;
    const counts = { files, records, rejected };
    const exact_since = manifest?.exact_since ?? null;
    const result = { dir, manifest: manifest !== null, ...counts, exact_since, problems, more };
    return { result, lines: linesOf(dir, found), code: problems.length > 0 ? 1 : manifest ? 0 : 3 };
  });
};

function linesOf(dir: string, { manifest, files, records, rejected, problems, more }: CheckedArchive): string[] {
  const what = `${countText(records, 'record')} in ${countText(files, 'file')}, and ${rejected} rejected: ${dir}`;
  const lines = [
    ...problems.map(({ file, kind, problem }) => `${kind}: ${foreignText(file)}: ${problem}`),
    ...more.map((file) => `more: ${foreignText(file)}: ${moreThanSaid}`),
  ];
  if (problems.length > 0) return [...lines, `${countText(problems.length, 'problem')}. Read ${what}`];
  if (!manifest) return [`Read ${what}. It has no ${manifestName}: so what is missing or altered is not known`];
  const since = manifest.exact_since;
  return [...lines, `As saved: ${what}${since === null ? '' : `. It has every record since ${since}`}`];
}
