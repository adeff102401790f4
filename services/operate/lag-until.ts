import { setTimeout as sleep } from 'node:timers/promises';
import { readPositions } from '../../infra/redis/leadership/who-leads.ts';
import { withRedis } from '../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { whyBad } from '../../projector/intake/validator.ts';
import type { EventLog, LogBounds, RejectPlace } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';
import { readableOf } from '../../projector/position/settled-position.ts';
import { within } from '../../projector/running/stop.ts';
import { byTopic, isTopicName, type TopicName } from '../../schemas/events/records.ts';
import { openKafkaLog } from '../backends/open-kafka.ts';
import { closing } from '../cli/closing.ts';
import { type ExitCode, type Io, needKafka, needRedis, UsageError } from '../cli/io.ts';
import type { Settings } from '../settings/settings.ts';

const lookEveryMs = 250;

type Place = Pick<RejectPlace, 'partition' | 'offset'> & { topic: TopicName };

/** What is known of the record. Printed as it is by --json. */
interface Known {
  place: string;
  readable: boolean;
  /** Why it was rejected. Null: it was not, or was not seen. */
  rejected: string | null;
  /** Up to where its partition is readable. Null: in doubt, or not known. */
  readable_offset: number | null;
  /** Where the partition ends. */
  end: number | null;
}

/**
 * Waits until a record is readable by what the store says (docs/rules.md#readable). Exit code 1 if that takes longer than the
 * timeout, 3 if the record is bad.
 */
export async function lagUntil(
  place: string,
  { json, timeout }: { json: boolean | undefined; timeout: number },
  settings: Settings,
  io: Io,
): Promise<ExitCode> {
  const at = placeOf(place);
  const known: Known = { place, readable: false, rejected: null, readable_offset: null, end: null };
  const looking = (signal: AbortSignal) =>
    look(at, known, settings, { log: io.log, signal }).catch((cause) => {
      if (io.signal.aborted || !signal.aborted) throw cause;
    });
  await within(timeout * 1000, looking, io.signal);
  io.out(json ? JSON.stringify(known) : lineOf(known, at, timeout));
  return known.rejected !== null ? 3 : known.readable ? 0 : 1;
}

function placeOf(text: string): Place {
  const [, topic = '', partition, offset] = /^([a-z-]+)\/(\d{1,9})@(\d{1,15})$/.exec(text) ?? [];
  if (isTopicName(topic)) return { topic, partition: Number(partition), offset: Number(offset) };
  throw new UsageError(
    `Cannot run lag: --until ${JSON.stringify(text)} is no place of a record, want such as nights/3@107`,
  );
}

/** Looks until the record is known to be readable or bad. Throws the signal's reason. */
async function look(at: Place, known: Known, settings: Settings, io: Pick<Io, 'log' | 'signal'>): Promise<void> {
  const { topic, partition, offset } = at;
  const { signal } = io;
  const redis = needRedis(settings, 'lag');
  const log = openKafkaLog(needKafka(settings, 'lag'), settings, { log: io.log, signal, goesOn: true });
  await closing([log], async () => {
    const identity = await log.identity!();
    await withRedis(redis, async (connection) => {
      for (let isJudged = false; ; await sleep(lookEveryMs, undefined, { signal })) {
        const bounds = await log.bounds();
        known.end = bounds[topic][partition]?.end ?? null;
        if (known.end === null)
          throw new UsageError(
            `Cannot run lag: topic ${topic} has ${bounds[topic].length} partitions, and --until names ${partition}`,
          );
        if (!isJudged && offset < known.end) {
          known.rejected = await badness(at, log, bounds, signal);
          isJudged = true;
        }
        const readable = readableOf(await readPositions(connection, redisKeys(redis.keyPrefix)), identity);
        known.readable_offset = readable?.[topic][partition] ?? null;
        known.readable = known.rejected === null && offset < (known.readable_offset ?? 0);
        if (known.readable || known.rejected !== null) return;
      }
    });
  });
}

/** Why the record at a place is bad. Null: it is good, or compacted away. */
async function badness(at: Place, log: EventLog, bounds: LogBounds, signal: AbortSignal): Promise<string | null> {
  const { topic, partition, offset } = at;
  const only = byTopic((each) => bounds[each].map(({ end }) => ({ low: end, end })));
  only[topic][partition] = { low: Math.max(offset, bounds[topic][partition]!.low), end: offset + 1 };
  let bad: string | null = null;
  await followToEnds(log, positionOf(only, 'low'), only, signal, (batch) => {
    const isHere = batch.topic === topic && batch.partition === partition;
    const record = isHere && batch.records.find((one) => one.offset === offset);
    if (record) bad = whyBad(record);
  });
  return bad;
}

function lineOf({ place, readable, rejected, readable_offset: upTo, end }: Known, at: Place, timeout: number): string {
  if (rejected !== null) return `${place} was rejected, and shows nowhere: ${rejected}`;
  if (readable) return `${place} is readable`;
  const where = `${at.topic}/${at.partition}`;
  if (end === null) return `${place} is not known to be readable after ${timeout} s: Kafka or Redis has not answered`;
  const nobody = 'no projector says up to where, or its views may be wrong; lag says who leads';
  const sofar = upTo === null ? nobody : `${where} is readable up to ${upTo}`;
  const why = end <= at.offset ? `${where} ends at ${end}: nothing stands there yet` : sofar;
  return `${place} is not readable after ${timeout} s: ${why}`;
}
