import { batchHeaders } from '../../infra/kafka/protocol/record-batch.ts';
import { positionOf } from '../../projector/intake/position.ts';
import type { EventLog, LogBounds, Position, RawRecord, Reject } from '../../projector/ports/event-log.ts';
import { countText } from '../../projector/ports/log.ts';
import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import { isBatchFault } from '../../schemas/avro/undecodable.ts';
import { followToEnds } from '../backends/follow-to-ends.ts';
import { openKafkaLog, openKafkaPublisher } from '../backends/open-kafka.ts';
import { type ExitCode, type Io, needKafka, UsageError } from '../cli/io.ts';
import { makeLogger } from '../cli/logger.ts';
import type { Settings } from '../settings/settings.ts';
import {
  chosen,
  type RejectChoice,
  type RejectJudge,
  readRejectedLog,
  rejectJudge,
  rejectPlace,
} from './rejected-log.ts';

interface RejectedResubmitOptions extends RejectChoice {
  json?: boolean;
  all?: boolean;
}

/** What became of a bad record. Printed as it is by --json. */
interface Outcome {
  place: string;
  /** Its new place. Null: it was not published. */
  now: string | null;
  /** Why it was not published, or what to look into although it was. */
  note: string | null;
}

/**
 * Publishes bad records again, each to its own partition: those that are good by now and whose key has had no later
 * record. Exit code 1 if one of them is still bad, or somebody else published its key meanwhile.
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
  const { rejects } = await readRejectedLog('rejected resubmit', undefined, settings, io);
  const wanted = chosen('rejected resubmit', rejects, options);
  const logger = makeLogger(settings);
  const log = openKafkaLog(kafka, logger, io.signal);
  const publisher = openKafkaPublisher(kafka, logger, io.signal);
  try {
    const judge = rejectJudge(kafka.schemaRegistryUrl, io.signal);
    const outcomes = await resubmit(wanted, { log, publisher, judge, signal: io.signal });
    tell(outcomes, options, io);
    return outcomes.some(({ now, note }) => (now === null && note !== superseded) || (now !== null && note !== null))
      ? 1
      : 0;
  } finally {
    await Promise.all([log.close(), publisher.close()]);
  }
}

const superseded = 'its key has had a later record';

interface Parts {
  log: EventLog;
  publisher: LogPublisher;
  judge: RejectJudge;
  signal: AbortSignal;
}

async function resubmit(rejects: readonly Reject[], { log, publisher, judge, signal }: Parts): Promise<Outcome[]> {
  const bounds = await log.bounds();
  const records = await recordsOfKeys(rejects, log, behindAll(rejects, bounds), bounds, signal);
  const outcomes: Outcome[] = [];
  const published: Published[] = [];
  for (const reject of rejects) {
    const note = await whyNot(reject, bounds, records, judge);
    const outcome: Outcome = { place: rejectPlace(reject), now: null, note };
    outcomes.push(outcome);
    if (note !== null) continue;
    signal.throwIfAborted();
    const offset = await publishAgain(reject, publisher);
    outcome.now = rejectPlace({ ...reject, offset });
    published.push({ reject, offset, outcome });
    // Another one of its key must not follow it.
    records.add(reject, reject.raw.key, offset);
  }
  await sayRaces(published, log, positionOf(bounds, 'end'), signal);
  return outcomes;
}

/** The position behind the first bad record of each partition. A partition without one is at its end. */
function behindAll(rejects: readonly Reject[], bounds: LogBounds): Position {
  const behind = positionOf(bounds, 'end');
  for (const { topic, partition, offset } of rejects) {
    const low = bounds[topic]?.[partition]?.low;
    if (low === undefined) continue;
    behind[topic][partition] = Math.min(behind[topic][partition]!, Math.max(low, offset + 1));
  }
  return behind;
}

/** Why a bad record is not published again; null: it may be. */
async function whyNot(
  reject: Reject,
  bounds: LogBounds,
  records: KeyOffsets,
  judge: RejectJudge,
): Promise<string | null> {
  const { topic, partition, offset, raw, reason: was } = reject;
  if (isBatchFault(was)) return batchNote(raw);
  if (partition >= (bounds[topic]?.length ?? 0)) return 'there is no such partition any more';
  // A record without a key has no later record of its key: it is bad for ever.
  if (raw.key !== null && records.of(reject).some((one) => one > offset)) return superseded;
  const { reason } = await judge(reject);
  return reason && `it is still bad: ${reason}`;
}

/** A bad batch is set aside as compressed bytes. Published as a record, they would be one more bad record. */
function batchNote({ headers }: RawRecord): string {
  const [last, codec] = [headers[batchHeaders.lastOffset], headers[batchHeaders.codec]];
  return `it stands for all records up to offset ${last}, in one batch (codec ${codec}): have its producer send them again, in smaller batches`;
}

/** Publishes a bad record to its partition. Returns its offset there. */
async function publishAgain({ topic, partition, raw }: Reject, publisher: LogPublisher): Promise<number> {
  const headers = Object.entries(raw.headers).map(([key, value]) => ({ key, value }));
  // With the present time, because the record counts from now on.
  const record = { partition, key: raw.key, value: raw.value, timestampMs: Date.now(), headers };
  return (await publisher.publish(topic, [record])).get(partition)!;
}

interface Published {
  reject: Reject;
  offset: number;
  outcome: Outcome;
}

/** Notes another record of a key that came in between. Kafka has no conditional publish, so this is known afterwards. */
async function sayRaces(
  published: readonly Published[],
  log: EventLog,
  from: Position,
  signal: AbortSignal,
): Promise<void> {
  if (published.length === 0) return;
  const rejects = published.map(({ reject }) => reject);
  const between = await recordsOfKeys(rejects, log, from, await log.bounds(), signal);
  for (const { reject, offset, outcome } of published) {
    const other = between.of(reject).find((one) => one < offset);
    if (other === undefined) continue;
    outcome.note = `its key had another record at offset ${other} meanwhile, which it now stands behind: publish that one again`;
  }
}

/** The offsets of the records that share a bad record's key, bad ones too, ascending. */
class KeyOffsets {
  readonly #offsets = new Map<string, number[]>();

  constructor(rejects: readonly Reject[]) {
    for (const reject of rejects) this.#offsets.set(partitionKey(reject, reject.raw.key), []);
  }

  add(place: Place, key: Buffer | null, offset: number): void {
    this.#offsets.get(partitionKey(place, key))?.push(offset);
  }

  of(reject: Reject): readonly number[] {
    return this.#offsets.get(partitionKey(reject, reject.raw.key))!;
  }
}

type Place = Pick<Reject, 'topic' | 'partition'>;

const partitionKey = ({ topic, partition }: Place, key: Buffer | null): string =>
  `${topic}/${partition} ${key === null ? '-' : key.toString('base64')}`;

/** Finds the records of bad records' keys, from a position to the log's bounds. */
async function recordsOfKeys(
  rejects: readonly Reject[],
  log: EventLog,
  from: Position,
  bounds: LogBounds,
  signal: AbortSignal,
): Promise<KeyOffsets> {
  const found = new KeyOffsets(rejects);
  await followToEnds(log, from, bounds, signal, (batch) => {
    const { end } = bounds[batch.topic][batch.partition]!;
    for (const { offset, keyBytes } of batch.records) if (offset < end) found.add(batch, keyBytes, offset);
  });
  return found;
}

function tell(outcomes: readonly Outcome[], { json }: RejectedResubmitOptions, io: Io): void {
  if (json) {
    for (const outcome of outcomes) io.out(JSON.stringify(outcome));
    return;
  }
  for (const { place, now, note } of outcomes) {
    const what = now === null ? `${place} is not published: ${note}` : `${place} is at ${now} now`;
    io.out(now !== null && note !== null ? `${what}, but ${note}` : what);
  }
  const count = outcomes.filter(({ now }) => now !== null).length;
  io.out(`Published ${count} of ${countText(outcomes.length, 'bad record')}`);
}
