import { archivePrefix, listArchive } from '../infra/archive/archive-files.ts';
import { readManifest } from '../infra/archive/archive-manifest.ts';
import { assertAsSaved } from '../infra/archive/inspect-settled.ts';
import { notAsSaved } from '../infra/archive/partition-inspection.ts';
import { registerSchema } from '../infra/registry/schema-registry.ts';
import { countText } from '../projector/ports/log.ts';
import type { KafkaSettings, Settings } from './settings/settings.ts';
import { archiveLoad } from './wiring/archive/archive-load.ts';
import type { Register } from './wiring/archive/raw-values.ts';
import { splitKeysText } from './wiring/archive/split-keys.ts';
import { openKafkaLog, openKafkaPublisher } from './wiring/backends/kafka.ts';
import { warnOfMissingTopics } from './wiring/backends/readable-archive.ts';
import { needFolderName } from './wiring/command/empty-folder.ts';
import { asUsage, type ExitCode, type Io, needKafka } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';
import { percentOf } from './wiring/command/progress.ts';
import { runWithProgress } from './wiring/command/run-with-progress.ts';

export interface ArchiveLoadOptions {
  dir: string;
  json?: boolean;
  /** Also after records of other producers. */
  append?: boolean;
  /** Keep the archive's partition numbers. */
  keepPartitions?: boolean;
  /** Also where files are not as the manifest says. */
  unchecked?: boolean;
}

/** Publishes an archive's records to the log in Kafka, or continues a load that was stopped. */
export async function runArchiveLoad(options: ArchiveLoadOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { dir, json, append = false, keepPartitions = false, unchecked = false } = options;
  const kafka = needKafka(settings, 'archive load');
  needFolderName(dir, 'archive load');
  const { topicPrefix } = kafka;
  const logger = makeLogger(settings);
  const manifest = unchecked ? null : readManifest(dir);
  const prefix = manifest?.prefix ?? (await asUsage(archivePrefix(dir, topicPrefix)));
  // Checked before anything waits for Kafka.
  await asUsage(listArchive(dir, prefix, 'archive load'));
  warnOfMissingTopics(dir, prefix, logger);
  const log = openKafkaLog(kafka, logger, io.signal);
  const publisher = openKafkaPublisher(kafka, logger, io.signal);
  const target = { publisher, log, register: registerWith(kafka, io.signal) };
  const command = { json, title: 'Records', stopped: 'call it again, with the same options, to go on' };
  try {
    return await runWithProgress(command, io, async (progress) => {
      // Before anything is asked of Kafka; it can be stopped as the load can.
      if (!unchecked) await assertLoadable(dir, prefix, io.signal);
      const result = await archiveLoad({ dir, prefix }, target, {
        append,
        keepPartitions,
        signal: io.signal,
        log: logger,
        onProgress: percentOf(progress),
        onCompare: () => io.err('The topics hold records: comparing them with the archive'),
      });
      for (const split of result.splitKeys) io.err(splitKeysText(split, keepPartitions));
      if (result.before > 0) io.err(`${countText(result.before, 'record')} of it had been loaded before`);
      const what = `${countText(result.records, 'record')} and ${result.rejected} set aside`;
      return { result: { dir, ...result }, lines: [`Loaded ${what}: ${dir}`] };
    });
  } finally {
    await Promise.all([log.close(), publisher.close()]);
  }
}

/** Nothing of an archive that is not whole may reach topics, where it can't be taken back. */
async function assertLoadable(dir: string, prefix: string, signal: AbortSignal): Promise<void> {
  const fix = 'Nothing was loaded: put it back from a copy, or load what is there with --unchecked';
  const unfinished = await assertAsSaved({ dir, prefix, verb: 'load', fix, withoutManifest: 'all', signal });
  if (unfinished.length > 0) throw notAsSaved(dir, unfinished, fix, 'load');
}

/** Registers schemas under the subject that Kafka's own serializers use: by topic. */
function registerWith({ schemaRegistryUrl, topicPrefix }: KafkaSettings, signal: AbortSignal): Register | null {
  if (schemaRegistryUrl === null) return null;
  return (topic, schema) =>
    registerSchema({ url: schemaRegistryUrl, subject: `${topicPrefix}${topic}-value`, schema, signal });
}
