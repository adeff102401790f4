import { batchHeaders } from '../../infra/kafka/protocol/record-batch.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import type { EventLog, LogBounds, Position, RawRecord, Reject } from '../../projector/ports/event-log.ts';
import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import { positionOf } from '../../projector/position/position.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { isBatchFault } from '../../schemas/avro/undecodable.ts';
import { isTopicName, type TopicName, topicNames } from '../../schemas/events/records.ts';
import { openKafkaLog, openKafkaPublisher } from '../backends/open-kafka.ts';
import { type ExitCode, type Io, needKafka, UsageError } from '../cli/io.ts';
import { makeLogger } from '../cli/logger.ts';
import type { Settings } from '../settings/settings.ts';
import { chosen, type RejectChoice, type RejectJudge, readRejected, rejectJudge, rejectPlace } from './rejected-log.ts';

interface RejectedResubmitOptions extends RejectChoice {
  json?: boolean;
  all?: boolean;
}

/** What became of a bad record. Printed as it is by --json. */
interface Outcome {
  place: string;
  /** Its new place. Null: it was not published. */
  now: string | null;
  /** Why it was not published. */
  note: string | null;
}

/**
 * Publishes bad records again, each to its own partition: those that are good by now and whose key has had no later
 * record (docs/rules.md#resubmitted-records). Exit code 1 if one of the others could not be published.
 */
export async function runRejectedResubmit(
  options: RejectedResubmitOptions,
  settings: Settings,
  io: Io,
): Promise<ExitCode> {
  const kafka = needKafka(settings, 'rejected resubmit');
  const choices = [options.all, options.reason !== undefined, options.place !== undefined].filter(Boolean);
  if (choices.length !== 1)
    throw new UsageError('Cannot run rejected resubmit: want one of --all, --reason TEXT and --place PLACE');
  const rejects = await readRejected(kafka, settings, io);
  const wanted = chosen('rejected resubmit', rejects, options);
  const logger = makeLogger(settings);
  const log = openKafkaLog(kafka, settings, logger, io.signal);
  const publisher = openKafkaPublisher(kafka, logger, io.signal);
  const judging = rejectJudge(settings, io.signal);
  try {
    const outcomes = await resubmit(rejects, wanted, { log, publisher, judge: judging.judge, signal: io.signal });
    tell(outcomes, options, io);
    return outcomes.some(({ note }) => note !== null && note !== superseded) ? 1 : 0;
  } finally {
    await Promise.all([log.close(), publisher.close(), judging.close()]);
  }
}

interface Parts {
  log: EventLog;
  publisher: LogPublisher;
  judge: RejectJudge;
  signal: AbortSignal;
}

/** `rejects`: all bad records of the log. `wanted`: those of them to publish again. */
export async function resubmit(
  rejects: readonly Reject[],
  wanted: readonly Reject[],
  { log, publisher, judge, signal }: Parts,
): Promise<Outcome[]> {
  const bounds = await log.bounds();
  const records = await RecordsOfRejects.read(rejects, log, beginOf(rejects, bounds), bounds, signal);
  const outcomes: Outcome[] = [];
  for (const reject of wanted) {
    const outcome: Outcome = { place: rejectPlace(reject), now: null, note: await whyNot(reject, records, judge) };
    outcomes.push(outcome);
    if (outcome.note !== null) continue;
    signal.throwIfAborted();
    const now = await publishAgain(reject.topic as TopicName, reject, publisher);
    outcome.now = rejectPlace({ topic: reject.topic, ...now });
    records.add(reject.topic, reject.raw.key, now);
  }
  return outcomes;
}

/** The start of the topics that have bad records, and the ends of the others. */
function beginOf(rejects: readonly Reject[], bounds: LogBounds): Position {
  const begin = positionOf(bounds, 'end');
  for (const topic of topicNames) {
    if (rejects.some((reject) => reject.topic === topic)) begin[topic] = bounds[topic].map(({ low }) => low);
  }
  return begin;
}

/** Why a bad record is not published again. Null: it may be. */
async function whyNot(reject: Reject, records: RecordsOfRejects, judge: RejectJudge): Promise<string | null> {
  if (isBatchFault(reject.reason)) return batchNote(reject.raw);
  // A record without a key stays bad.
  const hindrance = reject.raw.key === null ? null : records.hindrance(reject);
  if (hindrance !== null) return hindrance;
  const { reason } = await judge(reject);
  return reason && `it is still bad: ${reason}`;
}

/** A bad batch is set aside as compressed bytes. Published as a record, they would be one more bad record. */
function batchNote({ headers }: RawRecord): string {
  const [last, codec] = [headers[batchHeaders.lastOffset], headers[batchHeaders.codec]];
  return `it stands for all records up to offset ${last}, in one batch (codec ${codec}): have its producer send them again, in smaller batches`;
}

/** Publishes a bad record to its own partition, with the present time: it counts from now on. Returns where it is. */
async function publishAgain(topic: TopicName, { partition, raw }: Reject, publisher: LogPublisher) {
  const headers = Object.entries(raw.headers).map(([key, value]) => ({ key, value }));
  const [place] = await publisher.publish(topic, [
    { partition, key: raw.key, value: raw.value, timestampMs: Date.now(), headers },
  ]);
  return { partition: place![0], offset: place![1] };
}

function tell(outcomes: readonly Outcome[], { json }: RejectedResubmitOptions, io: Io): void {
  if (json) {
    for (const outcome of outcomes) io.out(JSON.stringify(outcome));
    return;
  }
  for (const { place, now, note } of outcomes) {
    io.out(now === null ? `${foreignText(place)} is not published: ${note}` : `${place} is at ${now} now`);
  }
  const count = outcomes.filter(({ now }) => now !== null).length;
  io.out(`Published ${count} of ${countText(outcomes.length, 'bad record')}`);
}

interface RecordPlace {
  partition: number;
  offset: number;
}

/** Why a bad record that is good by now is left out all the same: no fault. */
const superseded = 'its key has had a later record';

/** What the log holds of the keys of bad records, and at their places (docs/rules.md#resubmitted-records). */
class RecordsOfRejects {
  /** By key. */
  readonly #records = new Map<string, RecordPlace[]>();
  /** By place: key and timestamp of what is there. */
  readonly #atPlace = new Map<string, string>();
  readonly #rejects: readonly Reject[];
  readonly #ends: Position;

  private constructor(rejects: readonly Reject[], ends: Position) {
    this.#rejects = rejects;
    this.#ends = ends;
    for (const { topic, raw } of rejects) this.#records.set(keyText(topic, raw.key), []);
  }

  /** Reads the log from a position on to its bounds. */
  static async read(
    rejects: readonly Reject[],
    log: EventLog,
    from: Position,
    bounds: LogBounds,
    signal: AbortSignal,
  ): Promise<RecordsOfRejects> {
    const ends = positionOf(bounds, 'end');
    const found = new RecordsOfRejects(rejects, ends);
    const places = new Set(rejects.map(rejectPlace));
    await followToEnds(log, from, bounds, signal, ({ topic, partition, records }) => {
      for (const { offset, keyBytes, timestampMs } of records) {
        if (offset >= ends[topic][partition]!) continue;
        found.add(topic, keyBytes, { partition, offset });
        const place = rejectPlace({ topic, partition, offset });
        if (places.has(place)) found.#atPlace.set(place, `${keyText(topic, keyBytes)} ${timestampMs}`);
      }
    });
    return found;
  }

  add(topic: string, keyBytes: Buffer | null, place: RecordPlace): void {
    this.#records.get(keyText(topic, keyBytes))?.push(place);
  }

  /** Why a bad record must not be published again, even if it is good by now. Null: it may be. */
  hindrance({ topic, partition, offset, timestampMs, raw }: Reject): string | null {
    const key = keyText(topic, raw.key);
    const there = this.#atPlace.get(rejectPlace({ topic, partition, offset }));
    const isFollowed = (places: readonly RecordPlace[]): boolean =>
      places.some((place) => place.partition === partition && place.offset > offset);
    if (there === `${key} ${timestampMs}`) return isFollowed(this.#records.get(key)!) ? superseded : null;
    // No record has been at an offset behind the end.
    if (there !== undefined || offset >= ((isTopicName(topic) && this.#ends[topic][partition]) || 0))
      return 'it is of another log: have its producer send it again';
    // It was compacted away, and all of its key with it unless there is a later one.
    const others = this.#rejects.filter((other) => keyText(other.topic, other.raw.key) === key);
    return this.#records.get(key)!.length > 0 || isFollowed(others) ? superseded : null;
  }
}

const keyText = (topic: string, key: Buffer | null): string =>
  `${topic} ${key === null ? '-' : key.toString('base64')}`;
