import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ArchiveListing, listArchive } from '../../infra/archive/format/archive-files.ts';
import { type ArchiveManifest, readManifest } from '../../infra/archive/format/archive-manifest.ts';
import { archiveBounds } from '../../infra/archive/log/archive-bounds.ts';
import type { LogBounds } from '../../projector/ports/event-log.ts';
import { closing } from '../cli/closing.ts';
import type { Io } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import { chooseLog } from '../serve/open-event-log.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';

/** The log as the commands for the past read it: an archive, up to its ends when it was opened. */
export interface PastLog {
  dir: string;
  prefix: string;
  listing: ArchiveListing;
  bounds: LogBounds;
  /** Where the log is, in words. */
  where: string;
  /** What is known of its history. Null without a manifest: files may then be missing. */
  manifest: ArchiveManifest | null;
  /** Whether it holds more than its manifest says. */
  holdsMore: boolean;
  /** Whether it was read from Kafka, which keeps only the last record of each key. Its history is not known. */
  isCompacted: boolean;
  close(): void;
}

/**
 * Opens the log that a command for the past reads: the one of `--archive`, else the log of the settings. Kafka's
 * records are first copied to a temporary archive, without a consumer group.
 */
export async function openPastLog(
  command: string,
  archive: string | undefined,
  settings: Settings,
  io: Io,
): Promise<PastLog> {
  const chosen = await chooseLog(command, archive, settings, io.log);
  return chosen.kafka ? openCopyOfKafka(chosen, settings, io) : openArchive(chosen, io);
}

/** `named`: what names the folder, for messages. */
async function openArchive(
  { named, dir, prefix, where, holdsMore }: Pick<PastLog, 'dir' | 'prefix' | 'where' | 'holdsMore'> & { named: string },
  io: Io,
): Promise<PastLog> {
  const listing = listArchive(dir, prefix, named);
  const bounds = await archiveBounds({ dir, prefix, listing }, (cut) => io.err(`May not be exact: ${cut}`));
  const manifest = readManifest(dir);
  return { dir, prefix, where, holdsMore, listing, bounds, manifest, isCompacted: false, close() {} };
}

/** Copies what Kafka holds now to a temporary archive, without a consumer group. */
async function openCopyOfKafka(
  { kafka, where }: { kafka: KafkaSettings; where: string },
  settings: Settings,
  io: Io,
): Promise<PastLog> {
  const dir = mkdtempSync(join(tmpdir(), 'ride-calendar-past-'));
  const close = (): void => rmSync(dir, { recursive: true, force: true });
  // Also if the process ends in another way: the copy contains riders' records.
  process.once('exit', close);
  // Reading an archive must not wait until Kafka's clients are loaded.
  const [{ openKafkaLog }, { knownSchemas }, { archiveSave }] = await Promise.all([
    import('../backends/open-kafka.ts'),
    import('../backends/known-schemas.ts'),
    import('../archive/save-log.ts'),
  ]);
  const { topicPrefix: prefix } = kafka;
  try {
    const writers = knownSchemas(settings);
    const schemaOf = (value: Buffer) => writers.named(value);
    const log = openKafkaLog(kafka, settings, io, writers);
    await closing([log], () =>
      withProgress(io, 'Read from Kafka', 100, ({ update: onProgress }) =>
        archiveSave(log, async () => {}, dir, { prefix, signal: io.signal, schemaOf, onProgress }),
      ),
    );
    const opened = await openArchive({ dir, prefix, named: 'KAFKA_BROKERS', where, holdsMore: false }, io);
    return { ...opened, isCompacted: true, manifest: null, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** What a user should know before relying on an answer about the past. Empty if it is exact. */
export function doubtsOf(log: PastLog, atMs: number): string[] {
  if (log.isCompacted)
    return [
      'Kafka is compacted and holds the present: of the past it has what is not superseded yet. The archive is the time machine: ride-calendar archive save DIR --follow',
    ];
  // `simulate` wrote every record there ever was.
  if (log.manifest?.simulated && !log.holdsMore) return [];
  const { exact_since: exactSince = null, saved_until: savedUntil = null } = log.manifest ?? {};
  if (exactSince === null) {
    const why = log.manifest ? 'no save of it has come to the end of the log' : 'no manifest says so';
    return [`since when the archive has every record is not known: ${why}`];
  }
  const doubts: string[] = [];
  if (log.holdsMore && savedUntil === null)
    doubts.push('the archive holds more than its manifest says, and whether that is all is not known');
  if (atMs < Date.parse(exactSince))
    doubts.push(
      `the archive has every record since ${exactSince}: of the time before, what was superseded may be missing`,
    );
  if (savedUntil !== null && atMs > Date.parse(savedUntil))
    doubts.push(`the archive was saved until ${savedUntil}: what was published later is not in it`);
  return doubts;
}
