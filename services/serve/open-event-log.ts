import { readManifest } from '../../infra/archive/format/archive-manifest.ts';
import type { Log } from '../../projector/running/log.ts';
import { defaultPartitioners } from '../../schemas/events/partitioner.ts';
import type { OpenLog } from '../backends/open-log.ts';
import { openArchive } from '../backends/readable-archive.ts';
import type { Settings } from '../settings/settings.ts';
import { ensureSampleArchive } from '../simulate/sample-archive.ts';

/** Opens the event log that the settings name: Kafka, an archive, or the sample, which is made if there is none. */
export async function openEventLog(
  settings: Settings,
  log: Log,
  onAnswer: (request: string, seconds: number) => void,
): Promise<OpenLog> {
  if (settings.kafka) {
    // A start from an archive is half a second faster without this client, which compiles schemas when it is loaded.
    const { openProjectedKafka } = await import('../backends/open-kafka.ts');
    return openProjectedKafka(settings.kafka, settings, log, onAnswer);
  }
  const { topicPrefix: prefix, dataDir, archiveDir } = settings;
  const dir = archiveDir ?? (await ensureSampleArchive({ dataDir, prefix, now: settings.nowMs ?? Date.now() }));
  const isSample = archiveDir === null;
  const { eventLog, holdsMore } = await openArchive(dir, prefix, log, isSample);
  return {
    eventLog,
    // A sample is made as the default is, whatever the setting.
    partitioners: isSample ? defaultPartitioners : settings.partitioners,
    // Its bad records stay where they are.
    rejects: null,
    where: isSample ? 'a made-up sample calendar' : `the archive ${dir}`,
    // What is in it besides may be of real riders, whom nobody may pick.
    madeUp: holdsMore ? null : (readManifest(dir)?.simulated ?? null),
  };
}
