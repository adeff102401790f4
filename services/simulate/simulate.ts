import { setImmediate } from 'node:timers/promises';
import { realClock } from '../../projector/running/clock.ts';
import { countText } from '../../projector/running/log.ts';
import { encodeValue, ownDecoder } from '../../schemas/avro/codec.ts';
import { defaultPartitions } from '../../schemas/events/partitioner.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { assertDeclared } from '../backends/declared-partitions.ts';
import { draftArchive } from '../backends/new-archive.ts';
import { Publishing, type PublishTarget, type RecordToPublish } from '../backends/publishing.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needEmptyFolder } from '../cli/empty-folder.ts';
import { type Io, needKafka } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import type { Settings } from '../settings/settings.ts';
import { type Simulation, simulation, steppingClock } from './world/simulation.ts';
import { dayMs, type SimulatedRecord, type SimulationOptions } from './world/world.ts';

interface SimulateCommandOptions extends Omit<SimulationOptions, 'today'> {
  /** Changes per second. 0: as fast as possible. */
  rate: number;
  /** The number of changes after the initial calendar. If absent: none to an archive, no limit to Kafka. */
  count?: number;
  /** A new or empty folder. If absent, publishes to Kafka. */
  archive?: string;
  /** The day that counts as today, days since 1970-01-01. */
  around?: number;
}

const hourMs = 3_600_000;
/** The process checks its signals after this many records. */
const breath = 2_000;

/**
 * Publishes a made-up calendar around today (or NOW, or a given day) and then changes. To an archive, and to Kafka unless it is today, the
 * same options on the same day make the same records. Otherwise changes have the time at which they are made.
 */
export const runSimulate: Run<SimulateCommandOptions> = async (options, settings, io) => {
  const { around } = options;
  const today = around ?? Math.floor((settings.nowMs ?? Date.now()) / dayMs);
  const made = simulation({ ...options, today });
  const target = await openTarget(options, made, settings, io);
  const publishing = new Publishing(target);
  const sample = { developerKey: made.developerKey, rider: made.rider, today: dayText(today) };
  // A batch in flight is published to its end, unless Kafka does not answer.
  const close = () => publishing.stop().finally(() => target.close());
  return closing([{ close }], async () => {
    const initial = await publishInitial(made, publishing, io);
    if (initial === null) {
      // A calendar must be complete. Changes may end at any time.
      const left = options.archive === undefined ? 'the topics hold part of the calendar' : 'nothing was written';
      io.err(`Stopped before the end of the calendar: ${left}`);
      return 1;
    }
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
    const changes = await publishChanges(made, publishing, { clock, limit, rate }, io);
    await target.complete();
    if (options.json) io.out(JSON.stringify({ ...sample, records: initial + changes, changes }));
    else if (limit > 0) io.out(`${changes} changes`);
    return 0;
  });
};

async function openTarget(
  { archive: dir }: SimulateCommandOptions,
  { developerKey, rider }: Simulation,
  settings: Settings,
  io: Io,
): Promise<PublishTarget> {
  const { partitioners, topicPrefix: prefix } = settings;
  if (dir !== undefined) {
    await needEmptyFolder(dir, 'simulate --archive');
    assertDeclared('simulate', topicNames, partitioners, defaultPartitions);
    return draftArchive('simulate', { dir, prefix }, partitioners, { developer_key: developerKey, rider });
  }
  const kafka = needKafka(settings, 'simulate without --archive');
  const { openKafkaTarget } = await import('../backends/open-kafka.ts');
  return openKafkaTarget('simulate', topicNames, kafka, settings, io);
}

const encoded = ({ topic, key, value, timestampMs }: SimulatedRecord): RecordToPublish => {
  const valueBytes = value && encodeValue(topic, value);
  return { topic, key, keyBytes: Buffer.from(key), valueBytes, decoder: ownDecoder(topic), timestampMs };
};

/** Returns the number of records. Null if it was told to end before the calendar was complete. */
const publishInitial = async (made: Simulation, publishing: Publishing, io: Io): Promise<number | null> =>
  withProgress(io, 'Calendar', 100, async (progress) => {
    let count = 0;
    for (const record of made.initial((done) => progress.update(Math.floor(done * 100)))) {
      if (io.signal.aborted) return null;
      await publishing.add(encoded(record));
      if (++count % breath === 0) await setImmediate();
    }
    await publishing.end();
    return count;
  });

/** `rate`: changes per second; 0: as fast as possible. Returns the number of changes. */
async function publishChanges(
  made: Simulation,
  publishing: Publishing,
  { clock, limit, rate }: { clock: () => number; limit: number; rate: number },
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
        await publishing.end();
        await realClock.sleep(waitMs, io.signal);
        if (io.signal.aborted) break;
      } else if (count % breath === 0) await setImmediate();
      await publishing.add(encoded(changes.next().value!));
      progress.update(count + 1);
    }
    await publishing.end();
    return count;
  });
}
