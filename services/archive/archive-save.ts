import { KafkaCluster } from '../../infra/kafka/client/kafka-cluster.ts';
import { RejectedTopic } from '../../infra/kafka/log/rejected-topic.ts';
import { leastSettingMs } from '../../infra/kafka/topics/topic-settings.ts';
import { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import { countText } from '../../projector/running/log.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { knownSchemas } from '../backends/known-schemas.ts';
import { openKafkaLog } from '../backends/open-kafka.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needArchiveFolder } from '../cli/empty-folder.ts';
import { type Io, needKafka } from '../cli/io.ts';
import { type Progress, runWithProgress } from '../cli/progress.ts';
import { archiveSave, type SaveOptions } from './save-log.ts';

/** Saves the log in Kafka to a new archive, or to one that was saved before: up to its present ends, or without end. */
export const runArchiveSave: Run<{ dir: string; follow?: boolean; afterGap?: boolean }> = async (
  options,
  settings,
  io,
) => {
  const { dir, follow = false, afterGap = false, json } = options;
  const kafka = needKafka(settings, 'archive save');
  const prefix = kafka.topicPrefix;
  await needArchiveFolder(dir, 'archive save', prefix);
  const { log: logger, signal } = io;
  const writers = knownSchemas(settings);
  const log = openKafkaLog(kafka, settings, { log: logger, signal, goesOn: follow }, writers);
  const cluster = new KafkaCluster(kafka);
  const rejected = new RejectedTopic(cluster, prefix, { log: logger });
  const topics = topicNames.map((topic) => prefix + topic);
  const command = {
    json,
    title: 'Records',
    total: follow ? null : (100 as const),
    stopped: 'call it again to go on',
  };
  return closing([log, cluster], () =>
    runWithProgress(command, io, async (progress) => {
      const misplaced = new MisplacedRecords(settings.partitioners);
      const result = await archiveSave(log, (onRejects) => rejected.readOn(onRejects, signal), dir, {
        prefix,
        afterGap,
        misplaced,
        signal,
        compactionLagMs: () => leastSettingMs('min.compaction.lag.ms', kafka, topics, { log: logger, signal }),
        schemaOf: (value) => writers.named(value),
        ...(follow && { follow, onCheckpoint: saying(json ? null : dir, progress, io) }),
        ...(!follow && { onProgress: progress.update }),
      });
      const since = result.exact_since === null ? '' : `; it has every record since ${result.exact_since}`;
      const what = `${countText(result.records, 'record')} and ${result.rejected} rejected`;
      return {
        result: { dir, ...result, misplaced: Object.fromEntries(misplaced.found) },
        lines: [`Saved ${what}: ${dir}${since}`, ...misplaced.lines],
      };
    }),
  );
};

/** Counts on a terminal until the archive has everything that the log holds, and says so once. */
function saying(dir: string | null, progress: Progress, io: Io): NonNullable<SaveOptions['onCheckpoint']> {
  let said = false;
  return (result, isComplete) => {
    progress.update(result.records);
    if (said || !isComplete) return;
    said = true;
    if (dir === null) return;
    progress.close();
    io.err(`The archive has what the log holds: ${dir}. Following it until Ctrl-C`);
  };
}
