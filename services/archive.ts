import { archivePrefix, listArchive } from '../infra/archive/archive-files.ts';
import { readManifest } from '../infra/archive/archive-manifest.ts';
import { assertAsSaved } from '../infra/archive/assert-as-saved.ts';
import { notAsSaved } from '../infra/archive/not-as-saved.ts';
import { kafkaPublisher } from '../infra/kafka/kafka-publisher.ts';
import { registerSchema } from '../infra/registry/register-schema.ts';
import { countText } from '../projector/count-text.ts';
import type { KafkaSettings, Settings } from './settings/settings.ts';
import type { CopyOptions, CopyResult } from './wiring/archive/archive-copy.ts';
import { archiveLoad, type LoadResult } from './wiring/archive/archive-load.ts';
import type { Register } from './wiring/archive/raw-values.ts';
import { splitKeysText } from './wiring/archive/split-keys.ts';
import { warnOfMissingTopics } from './wiring/backends/missing-topics.ts';
import { openKafkaLog } from './wiring/backends/open-kafka-log.ts';
import { asUsage } from './wiring/command/as-usage.ts';
import { needFolderName } from './wiring/command/empty-folder.ts';
import { type ExitCode, type Io, needKafka, quietIf } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';
import { type Progress, showProgress } from './wiring/command/progress.ts';
import { abortsAfter } from './wiring/command/stop-signal.ts';

/** How long records in flight to Kafka may take when the command is told to stop. */
const inHandMs = 1_000;

export interface ArchiveCommandOptions {
  dir: string;
  json?: boolean;
}

export interface ArchiveLoadOptions extends ArchiveCommandOptions {
  /** Also after records of other producers. */
  append?: boolean;
  /** Keep the archive's partition numbers. */
  keepPartitions?: boolean;
  /** Also where files are not as the manifest says. */
  unchecked?: boolean;
}

/** Publishes an archive's records to the log in Kafka, or continues a load that was stopped. */
export async function runArchiveLoad(options: ArchiveLoadOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const kafka = needKafka(settings, 'archive load');
  needFolderName(options.dir, 'archive load', 'the folder of an archive');
  const { topicPrefix } = kafka;
  const logger = makeLogger(settings);
  const manifest = options.unchecked ? null : readManifest(options.dir);
  const prefix = manifest?.prefix ?? (await asUsage(archivePrefix(options.dir, topicPrefix)));
  // Checked before anything waits for Kafka.
  await asUsage(listArchive(options.dir, prefix, 'archive load'));
  warnOfMissingTopics(options.dir, prefix, logger);
  const log = openKafkaLog(kafka, logger, null, io.signal);
  const publisher = kafkaPublisher({ kafka, topicPrefix, log: logger, signal: abortsAfter(io.signal, inHandMs) });
  try {
    const { append = false, keepPartitions = false } = options;
    const load = async (copyOptions: CopyOptions): Promise<LoadResult> => {
      // Before anything is asked of Kafka; it can be stopped as the load can.
      if (!options.unchecked) await assertLoadable(options.dir, prefix, io.signal);
      const target = { publisher, log, register: registerWith(kafka, io.signal) };
      const onCompare = () => io.err('The topics hold records: comparing them with the archive');
      const loadOptions = { ...copyOptions, append, keepPartitions, onCompare };
      const result = await archiveLoad({ dir: options.dir, prefix }, target, loadOptions);
      for (const split of result.splitKeys) io.err(splitKeysText(split, keepPartitions));
      if (result.before > 0) io.err(`${countText(result.before, 'record')} of it had been loaded before`);
      return result;
    };
    return await copy('Loaded', 'call it again, with the same options, to go on', options, io, settings, load);
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

/** `goOn`: what the user can do if it is stopped before the end. */
async function copy(
  done: string,
  goOn: string,
  { dir, json }: ArchiveCommandOptions,
  io: Io,
  settings: Settings,
  run: (options: CopyOptions) => Promise<CopyResult>,
): Promise<ExitCode> {
  const progress = await showProgress(quietIf(json, io), 'Records', 100);
  try {
    const result = await asUsage(run(copyOptions(progress, settings, io)));
    progress.stop();
    if (json) io.out(JSON.stringify({ dir, ...result }));
    else {
      const what = `${countText(result.records, 'record')} and ${result.rejected} set aside`;
      io.out(`${done} ${what}: ${dir}`);
    }
    return 0;
  } catch (error) {
    if (!io.signal.aborted) throw error;
    progress.stop();
    io.err(`Stopped before the end: ${goOn}`);
    return 1;
  } finally {
    progress.stop();
  }
}

function copyOptions(progress: Progress, settings: Settings, io: Io): CopyOptions {
  return {
    signal: io.signal,
    log: makeLogger(settings),
    onProgress: ({ done, total }) => progress.update(total === 0 ? 100 : Math.floor((done * 100) / total)),
  };
}
