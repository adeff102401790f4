import { setImmediate } from 'node:timers/promises';
import { manifestName } from '../../infra/archive/format/archive-manifest.ts';
import { realClock } from '../../projector/running/clock.ts';
import { countText } from '../../projector/running/log.ts';
import { defaultPartitions } from '../../schemas/events/partitioner.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { assertDeclared, declaredPartitions } from '../backends/declared-partitions.ts';
import { DraftFolder, isOfDraft } from '../cli/draft-folder.ts';
import { needEmptyFolder } from '../cli/empty-folder.ts';
import { type ExitCode, type Io, needKafka, UsageError } from '../cli/io.ts';
import { makeLogger } from '../cli/logger.ts';
import { withProgress } from '../cli/progress.ts';
import type { Settings } from '../settings/settings.ts';
import { archiveSink, kafkaSink, type RecordSink } from './sinks.ts';
import { type Simulation, simulation, steppingClock } from './world/simulation.ts';
import { dayMs } from './world/world.ts';

interface SimulateCommandOptions {
  metros: number;
  rides: number;
  riders: number;
  days: number;
  seed: number;
  /** Changes per second. 0: as fast as possible. */
  rate: number;
  /** The number of changes after the initial calendar. If absent: none to an archive, no limit to Kafka. */
  count?: number;
  /** A new or empty folder. If absent, publishes to Kafka. */
  archive?: string;
  /** The day that counts as today, days since 1970-01-01. */
  around?: number;
  json?: boolean;
}

const hourMs = 3_600_000;
/** The process checks its signals after this many records. */
const breath = 2_000;

/**
 * Publishes a made-up calendar around today (or NOW, or a given day) and then changes. To an archive, and to Kafka unless it is today, the
 * same options on the same day make the same records. Otherwise changes have the time at which they are made.
 */
export async function runSimulate(options: SimulateCommandOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { around } = options;
  const today = around ?? Math.floor((settings.nowMs ?? Date.now()) / dayMs);
  const made = simulation({ ...options, today });
  const sink = await openSink(options, made, settings, io);
  const sample = { developerKey: made.developerKey, rider: made.rider, today: dayText(today) };
  try {
    const initial = await publishInitial(made, sink, io);
    if (initial === null) return stopped(options.archive, io);
    if (!options.json) {
      io.out(`A calendar around ${sample.today}, in ${countText(initial, 'record')}`);
      io.out(`Developer key: ${sample.developerKey}`);
      io.out(`Rider with nights, friends and flags: ${sample.rider}`);
    }
    const limit = options.count ?? (options.archive === undefined ? Number.POSITIVE_INFINITY : 0);
    const live = options.archive === undefined && settings.nowMs === null && around === undefined;
    const stepMs = Number.isFinite(limit) ? hourMs / Math.max(1, limit) : 1_000 / (options.rate || 1_000);
    const clock = live ? Date.now : steppingClock(today, stepMs);
    // An archive's changes need no pace, because it is read once it is complete.
    const rate = options.archive === undefined ? options.rate : 0;
    const changes = await publishChanges(made, sink, { clock, limit, rate }, io);
    await sink.complete();
    if (options.json) io.out(JSON.stringify({ ...sample, records: initial + changes, changes }));
    else if (limit > 0) io.out(`${changes} changes`);
  } finally {
    await sink.close();
  }
  return 0;
}

async function openSink(
  options: SimulateCommandOptions,
  { developerKey, rider }: Simulation,
  settings: Settings,
  { signal }: Io,
): Promise<RecordSink> {
  if (options.archive !== undefined) {
    await needEmptyFolder(options.archive, 'simulate --archive', isOfDraft);
    assertDeclared('simulate', topicNames, settings.partitioners, defaultPartitions);
    return inDraft(new DraftFolder(options.archive, 'simulate'), (dir) =>
      archiveSink({ dir, prefix: settings.topicPrefix }, { developer_key: developerKey, rider }, settings.partitioners),
    );
  }
  const kafka = needKafka(settings, 'simulate without --archive');
  const [{ ensureTopics }, { openKafkaLog, openKafkaPublisher }] = await Promise.all([
    import('../../infra/kafka/topics/ensure-topics.ts'),
    import('../backends/open-kafka.ts'),
  ]);
  const { topicPrefix } = kafka;
  const log = makeLogger(settings);
  // A broker may create topics when they are written to, but without the settings that they need.
  const reports = await ensureTopics({ kafka, topicPrefix, create: false, log, signal });
  const missing = reports.filter(({ state }) => state === 'missing').map(({ topic }) => topic);
  if (missing.length > 0)
    throw new UsageError(
      `Cannot run simulate: no topic ${missing.join(', ')}; run "ride-calendar topics" to make them`,
    );
  const reading = openKafkaLog(kafka, settings, log, signal);
  const looking = { log: reading, partitioners: settings.partitioners, signal };
  const partitionOf = await declaredPartitions('simulate', topicNames, looking).finally(() => reading.close());
  // A batch in flight is published to its end, unless Kafka does not answer.
  return kafkaSink(openKafkaPublisher(kafka, log, signal), partitionOf);
}

/** An archive that is in its folder once it is complete. */
function inDraft(draft: DraftFolder, sinkIn: (dir: string) => RecordSink): RecordSink {
  const sink = sinkIn(draft.path);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await sink.close();
    isOpen = false;
  };
  return {
    ...sink,
    async complete() {
      await sink.complete();
      await close();
      draft.publish(manifestName);
    },
    async close() {
      if (!isOpen) return;
      await close();
      draft.drop();
    },
  };
}

/** A calendar must be complete. Changes may end at any time. */
function stopped(archive: string | undefined, io: Io): ExitCode {
  const fix = archive === undefined ? 'the topics hold part of the calendar' : 'nothing was written';
  io.err(`Stopped before the end of the calendar: ${fix}`);
  return 1;
}

/** Returns the number of records. Null if it was told to end before the calendar was complete. */
const publishInitial = async (made: Simulation, sink: RecordSink, io: Io): Promise<number | null> =>
  withProgress(io, 'Calendar', 100, async (progress) => {
    let count = 0;
    for (const record of made.initial((done) => progress.update(Math.floor(done * 100)))) {
      if (io.signal.aborted) return null;
      await sink.add(record);
      if (++count % breath === 0) await setImmediate();
    }
    await sink.flush();
    return count;
  });

interface Pace {
  clock: () => number;
  limit: number;
  /** Changes per second. 0: as fast as possible. */
  rate: number;
}

/** Returns the number of changes. */
async function publishChanges(
  made: Simulation,
  sink: RecordSink,
  { clock, limit, rate }: Pace,
  io: Io,
): Promise<number> {
  if (limit === 0 || io.signal.aborted) return 0;
  return withProgress(io, 'Changes', Number.isFinite(limit) ? limit : null, async (progress) => {
    const changes = made.changes(clock)[Symbol.iterator]();
    const startMs = performance.now();
    let count = 0;
    for (; count < limit && !io.signal.aborted; count++) {
      // The wait comes first: a change is made, and gets its timestamp, when it is due.
      const waitMs = rate === 0 ? 0 : startMs + (count * 1_000) / rate - performance.now();
      if (waitMs > 0) {
        await sink.flush();
        await realClock.sleep(waitMs, io.signal);
        if (io.signal.aborted) break;
      } else if (count % breath === 0) await setImmediate();
      await sink.add(changes.next().value!);
      progress.update(count + 1);
    }
    await sink.flush();
    return count;
  });
}
