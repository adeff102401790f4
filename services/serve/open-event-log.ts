import { readManifest } from '../../infra/archive/format/archive-manifest.ts';
import { archiveEventLog } from '../../infra/archive/log/archive-event-log.ts';
import type { EventLog } from '../../projector/ports/event-log.ts';
import type { Log } from '../../projector/running/log.ts';
import { defaultPartitioners, type Partitioners } from '../../schemas/events/partitioner.ts';
import type { OpenLog } from '../backends/open-kafka.ts';
import { assertReadable } from '../backends/readable-archive.ts';
import { closing } from '../cli/closing.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import type { Io } from '../cli/io.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';
import { ensureSampleArchive } from '../simulate/sample-archive.ts';

interface ChosenArchive {
  kafka: null;
  dir: string;
  prefix: string;
  /** What names the folder, for messages. */
  named: 'ARCHIVE_DIR' | '--archive';
  /** Whether it holds more than its manifest says. */
  holdsMore: boolean;
}

/** The log that a command is about. `where`: in words. */
export type ChosenLog = { where: string; partitioners: Partitioners } & (ChosenArchive | { kafka: KafkaSettings });

/**
 * Which log a command is about: the archive of `--archive`, else Kafka, ARCHIVE_DIR, or the sample, which is made if there is
 * none. An archive has been compared with its manifest. Throws SettingsError for one that differs.
 */
export async function chooseLog(
  command: string,
  archive: string | undefined,
  settings: Settings,
  log: Pick<Log, 'warn'>,
): Promise<ChosenLog> {
  const { kafka, partitioners, topicPrefix: prefix, dataDir, archiveDir } = settings;
  if (archive !== undefined) needFolderName(archive, `${command} --archive`);
  else if (kafka) return { kafka, partitioners, where: `Kafka at ${kafka.brokers.join(', ')}` };
  const given = archive ?? archiveDir;
  const isSample = given === null;
  const dir = given ?? (await ensureSampleArchive({ dataDir, prefix, now: settings.nowMs ?? Date.now() }));
  const named = archive === undefined ? 'ARCHIVE_DIR' : '--archive';
  const holdsMore = await assertReadable(dir, prefix, isSample, log, named);
  return {
    ...{ kafka: null, dir, prefix, named, holdsMore },
    // A sample is made as the default is, whatever the setting.
    partitioners: isSample ? defaultPartitioners : partitioners,
    where: isSample ? 'a made-up sample calendar' : `the archive ${dir}`,
  };
}

/** Has a command read the log that it is about. In Kafka no positions are committed. `goesOn`: as of openKafkaLog. */
export async function withLog<T>(
  command: string,
  archive: string | undefined,
  settings: Settings,
  io: Io,
  work: (log: EventLog, chosen: ChosenLog) => Promise<T>,
  goesOn = false,
): Promise<T> {
  const chosen = await chooseLog(command, archive, settings, io.log);
  const toPeople = { warn: (cut: string) => io.err(`May not be exact: ${cut}`) };
  const log = chosen.kafka
    ? (await import('../backends/open-kafka.ts')).openKafkaLog(chosen.kafka, settings, {
        log: io.log,
        signal: io.signal,
        goesOn,
      })
    : archiveEventLog({ ...chosen, log: toPeople });
  return closing([log], () => work(log, chosen));
}

/** Opens the event log that the settings name, for a projector. */
export async function openEventLog(
  settings: Settings,
  log: Log,
  onAnswer: (request: string, seconds: number) => void,
): Promise<OpenLog> {
  const chosen = await chooseLog('start', undefined, settings, log);
  if (chosen.kafka) {
    // A start from an archive is half a second faster without this client, which compiles schemas when it is loaded.
    const { openProjectedKafka } = await import('../backends/open-kafka.ts');
    return openProjectedKafka(chosen.kafka, settings, log, onAnswer);
  }
  return {
    ...chosen,
    eventLog: archiveEventLog({ ...chosen, log }),
    // Its bad records stay where they are.
    rejects: null,
    // What is in it besides may be of real riders, whom nobody may pick.
    madeUp: chosen.holdsMore ? null : (readManifest(chosen.dir)?.simulated ?? null),
  };
}
