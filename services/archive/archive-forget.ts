import { type Forgotten, forgetRider } from '../../infra/archive/forgetting/forget-rider.ts';
import { missingFolders } from '../../infra/archive/format/archive-files.ts';
import { archivePrefix } from '../../infra/archive/format/archive-manifest.ts';
import { countText } from '../../projector/running/log.ts';
import { idPattern } from '../../schemas/events/patterns.ts';
import type { Run } from '../cli/commands.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import { UsageError } from '../cli/io.ts';
import { runWithProgress } from '../cli/progress.ts';

/** Removes a rider from an archive, and reports what was removed. */
export const runArchiveForget: Run<{ rider: string; dir: string }> = async (options, settings, io) => {
  const { rider, dir, json } = options;
  needFolderName(dir, 'archive forget');
  if (!idPattern.test(rider))
    throw new UsageError(
      'Cannot run archive forget: the rider is not a rider id, want 1 to 64 letters, digits, _ or -: archive forget RIDER DIR',
    );
  const command = { json, title: 'Read', stopped: 'nothing was changed' };
  return runWithProgress(command, io, async ({ update: onProgress }) => {
    const prefix = archivePrefix(dir, settings.topicPrefix);
    for (const { file, problem } of missingFolders(dir, prefix)) io.err(`${file}: ${problem}`);
    const forgotten = await forgetRider({ dir, prefix, rider, signal: io.signal, onProgress });
    return { result: { dir, ...forgotten }, lines: linesOf(dir, forgotten) };
  });
};

function linesOf(dir: string, forgotten: Forgotten): string[] {
  const { records, leaders, rejected, headers, raw, files, example } = forgotten;
  const removed = [
    ...Object.entries(records).map(([topic, count]) => `${countText(count, 'record')} of ${topic}`),
    ...(rejected > 0 ? [`${rejected} rejected`] : []),
  ];
  const changed = [
    ...(leaders > 0 ? [`a leader of ${countText(leaders, 'record')} of rides`] : []),
    ...(headers > 0 ? [`headers of ${countText(headers, 'record')}`] : []),
    ...(raw > 0 ? [`${countText(raw, 'value')} as they came, of which our schema’s fields are left`] : []),
  ];
  const what = [...removed, ...changed, ...(example ? ['the example in the manifest'] : [])];
  if (what.length === 0) return [`Nothing of the rider is in ${dir}`];
  return [
    `Removed ${what.join(', ')}: ${countText(files, 'file')} of ${dir} written anew`,
    'What serves this archive must be started again. Copies of it, exports and Kafka are not changed',
  ];
}
