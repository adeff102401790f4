import { assertAsSaved } from '../../infra/archive/checking/check-archive.ts';
import { listArchive } from '../../infra/archive/format/archive-files.ts';
import { archivePrefix } from '../../infra/archive/format/archive-manifest.ts';
import { countText } from '../../projector/running/log.ts';
import { openKafkaLog, openKafkaPublisher } from '../backends/open-kafka.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import { needKafka } from '../cli/io.ts';
import { runWithProgress } from '../cli/progress.ts';
import { archiveLoad, type LoadResult } from './load-log.ts';

/** Publishes an archive's records to the log in Kafka. */
export const runArchiveLoad: Run<{ dir: string; append?: boolean; repartition?: boolean }> = async (
  options,
  settings,
  io,
) => {
  const { dir, json, append = false, repartition = false } = options;
  const { partitioners, givenPartitioners } = settings;
  const kafka = needKafka(settings, 'archive load');
  needFolderName(dir, 'archive load');
  const { topicPrefix } = kafka;
  const { log: logger, signal } = io;
  const prefix = archivePrefix(dir, topicPrefix);
  // Checked before anything waits for Kafka.
  listArchive(dir, prefix, 'archive load');
  const log = openKafkaLog(kafka, settings, io);
  const publisher = openKafkaPublisher(kafka, io);
  const goOn = `--append${repartition ? ' --repartition' : ''}`;
  const command = { json, title: 'Records', stopped: `call it again with ${goOn} to go on` };
  return closing([log, publisher], () =>
    runWithProgress(command, io, async ({ update: onProgress }) => {
      // Before the first request to Kafka. Ctrl-C stops this too.
      const fix = 'Nothing was loaded: put it back from a copy, or remove its manifest.json to load what is there';
      const more = await assertAsSaved({ dir, prefix, command: 'archive load', signal }, 'load', fix);
      for (const { file, problem } of more) logger.warn(`${file}: ${problem}. It is loaded as well`);
      const result = await archiveLoad(
        { dir, prefix },
        { publisher, log },
        { append, repartition, partitioners, givenPartitioners, signal, log: logger, onProgress },
      );
      return { result: { dir, ...result }, lines: linesOf(dir, append, result) };
    }),
  );
};

function linesOf(
  dir: string,
  append: boolean,
  { records, newer, same, tied, rejected, cut, retimed }: LoadResult,
): string[] {
  const lines = [`Loaded ${countText(records, 'record')} and ${rejected} rejected: ${dir}`];
  if (append)
    lines.push(
      `Of ${countText(same, 'key')} the topics hold the same record, and of ${newer.length} a newer one${named(newer)}`,
    );
  if (tied.length > 0)
    lines.push(
      `Of ${countText(tied.length, 'key')} the last two records have one timestamp${named(tied)}: publish what holds`,
    );
  if (cut > 0) lines.push(`${countText(cut, 'value')} came with more fields than our schema has: these are not loaded`);
  if (retimed > 0)
    lines.push(
      `${countText(retimed, 'timestamp')} in the future, or before the year 1: loaded with the present, or that year`,
    );
  return lines;
}

const namedMax = 20;

const named = (keys: readonly string[]): string => {
  const more = keys.length > namedMax ? ` and ${keys.length - namedMax} more (--json names all)` : '';
  return keys.length === 0 ? '' : ` (${keys.slice(0, namedMax).join(', ')}${more})`;
};
