import { archiveEventLog } from '../../../infra/archive/archive-event-log.ts';
import { readManifest, type SimulatedArchive } from '../../../infra/archive/archive-manifest.ts';
import type { EventLog, RejectSink } from '../../../projector/ports/event-log.ts';
import type { Log } from '../../../projector/ports/log.ts';
import type { Settings } from '../../settings/settings.ts';
import { assertReadable, warnOfMissingTopics } from './readable-archive.ts';
import { ensureSampleArchive } from './sample-archive.ts';

export interface OpenLog {
  eventLog: EventLog;
  /** Null: an archive keeps bad records where they are. */
  rejects: RejectSink | null;
  /** Where the log is, in words. */
  where: string;
  /**
   * The developer key and rider of a made-up log (the sample, or an archive that `simulate` made). Null for any other
   * log.
   */
  madeUp: SimulatedArchive | null;
}

/**
 * Opens the event log that the settings name: Kafka, an archive, or the sample archive, which is made if it does not
 * exist.
 */
export async function openEventLog(
  settings: Settings,
  log: Log,
  onAnswer: (request: string, seconds: number) => void,
): Promise<OpenLog> {
  if (settings.kafka) {
    // Half a second of a start that reads an archive: the client compiles its options' schemas when it is loaded.
    const { openProjectedKafka } = await import('./kafka.ts');
    return openProjectedKafka(settings.kafka, settings, log, onAnswer);
  }
  const { topicPrefix: prefix, dataDir, archiveDir } = settings;
  const dir = archiveDir ?? (await ensureSampleArchive({ dataDir, prefix, now: settings.nowMs ?? Date.now() }));
  const isSample = archiveDir === null;
  return {
    eventLog: await openArchive(dir, prefix, log, isSample),
    rejects: null,
    where: isSample ? 'a made-up sample calendar' : `the archive ${dir}`,
    madeUp: readManifest(dir)?.simulated ?? null,
  };
}

/** Opens an archive that matches its manifest. Throws SettingsError for another one. */
export async function openArchive(dir: string, prefix: string, log: Log, isSample = false): Promise<EventLog> {
  warnOfMissingTopics(dir, prefix, log);
  await assertReadable(dir, prefix, isSample, log);
  return archiveEventLog({ dir, prefix, log });
}
