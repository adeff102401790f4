import { archiveEventLog } from '../../infra/archive/log/archive-event-log.ts';
import type { EventLog } from '../../projector/ports/event-log.ts';
import { defaultPartitioners, type Partitioners } from '../../schemas/events/partitioner.ts';
import { assertReadable } from '../backends/readable-archive.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import type { Io } from '../cli/io.ts';
import { makeLogger } from '../cli/logger.ts';
import type { Settings } from '../settings/settings.ts';
import { ensureSampleArchive } from '../simulate/sample-archive.ts';

interface RecordsLog {
  log: EventLog;
  partitioners: Partitioners;
  /** Where it is, in words. */
  where: string;
  /** An archive ends where it ended when it was opened. */
  grows: boolean;
}

/** Opens the log that a command reads: the archive of `archive`, else Kafka, ARCHIVE_DIR or the sample. Nothing is committed. */
export async function openRecordsLog(
  command: string,
  archive: string | undefined,
  settings: Settings,
  io: Io,
): Promise<RecordsLog> {
  if (archive !== undefined) needFolderName(archive, `${command} --archive`);
  const { kafka, partitioners, topicPrefix: prefix, dataDir, archiveDir } = settings;
  const logger = makeLogger(settings);
  if (archive === undefined && kafka) {
    const { openKafkaLog } = await import('../backends/open-kafka.ts');
    const log = openKafkaLog(kafka, settings, logger, io.signal);
    return { log, partitioners, where: `Kafka at ${kafka.brokers.join(', ')}`, grows: true };
  }
  const isSample = archive === undefined && archiveDir === null;
  const dir =
    archive ?? archiveDir ?? (await ensureSampleArchive({ dataDir, prefix, now: settings.nowMs ?? Date.now() }));
  const named = archive === undefined ? 'ARCHIVE_DIR' : '--archive';
  await assertReadable(dir, prefix, isSample, logger, named);
  return {
    log: archiveEventLog({ dir, prefix, named, log: logger }),
    partitioners: isSample ? defaultPartitioners : partitioners,
    where: isSample ? 'the made-up sample calendar' : `the archive ${dir}`,
    grows: false,
  };
}
