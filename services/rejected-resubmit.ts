import { kafkaPublisher } from '../infra/kafka/kafka-publisher.ts';
import { countText } from '../projector/count-text.ts';
import type { EventLog, Position, Reject } from '../projector/ports/event-log.ts';
import type { LogPublisher } from '../projector/ports/log-publisher.ts';
import { positionOf } from '../projector/position.ts';
import type { Settings } from './settings/settings.ts';
import { RejectJudge } from './wiring/backends/judge-reject.ts';
import { LaterRecords } from './wiring/backends/later-records.ts';
import { openKafkaLog } from './wiring/backends/open-kafka-log.ts';
import { chosen, type RejectChoice, readRejectedLog, rejectPlace } from './wiring/backends/rejected-log.ts';
import { asUsage, type ExitCode, type Io, needKafka, UsageError } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';
import { abortsAfter } from './wiring/command/stop-signal.ts';

export interface RejectedResubmitOptions extends RejectChoice {
  json?: boolean;
  all?: boolean;
}

/** What became of a bad record. */
interface Outcome {
  place: string;
  /** Published anew there; null: not published. */
  now: string | null;
  /** Why it was not, or what to look into though it was. */
  note: string | null;
}

/** What is on its way to Kafka when the command is told to end may take so long. */
const inHandMs = 1_000;

/**
 * Publishes bad records again, each to its own partition: those that are good by now and whose key has had no later
 * record. 1 where one of them is still bad, or somebody else published its key meanwhile.
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
  const log = openKafkaLog(kafka, logger, null, io.signal);
  const { topicPrefix } = kafka;
  const publisher = kafkaPublisher({ kafka, topicPrefix, log: logger, signal: abortsAfter(io.signal, inHandMs) });
  try {
    const judge = new RejectJudge(kafka.schemaRegistryUrl, io.signal);
    const outcomes = await asUsage(resubmit(wanted, { log, publisher, judge, signal: io.signal }));
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
  const later = new LaterRecords(log, bounds);
  await later.readBehind(rejects, signal);
  const outcomes: Outcome[] = [];
  const published: { reject: Reject; offset: number; outcome: Outcome }[] = [];
  for (const reject of rejects) {
    const outcome: Outcome = { place: rejectPlace(reject), now: null, note: null };
    outcomes.push(outcome);
    if (reject.partition >= (bounds[reject.topic]?.length ?? 0)) outcome.note = 'there is no such partition any more';
    // Without a key it has none that could come later, and is bad for ever.
    else if (reject.raw.key !== null && later.has(reject)) outcome.note = superseded;
    else outcome.note = await stillBad(reject, judge);
    if (outcome.note !== null) continue;
    signal.throwIfAborted();
    const { topic, partition, raw } = reject;
    const headers = Object.entries(raw.headers).map(([key, value]) => ({ key, value }));
    // It counts from now on: its own time is that of a record that never counted.
    const record = { partition, key: raw.key, value: raw.value, timestampMs: Date.now(), headers };
    const offset = (await publisher.publish(topic, [record])).get(partition)!;
    outcome.now = `${topic}/${partition}@${offset}`;
    published.push({ reject, offset, outcome });
    // Another one of its key must not follow it.
    later.note(reject, offset);
  }
  await sayRaces(published, log, positionOf(bounds, 'end'), signal);
  return outcomes;
}

async function stillBad(reject: Reject, judge: RejectJudge): Promise<string | null> {
  const { reason } = await judge.judge(reject);
  return reason === null ? null : `it is still bad: ${reason}`;
}

/** Kafka can't publish on a condition: whether a record of the key came in between shows afterwards. */
async function sayRaces(
  published: readonly { reject: Reject; offset: number; outcome: Outcome }[],
  log: EventLog,
  from: Position,
  signal: AbortSignal,
): Promise<void> {
  if (published.length === 0) return;
  const between = new LaterRecords(log, await log.bounds());
  await between.readFrom(
    published.map(({ reject }) => reject),
    from,
    signal,
  );
  for (const { reject, offset, outcome } of published) {
    const other = between.firstBefore(reject, offset);
    if (other === null) continue;
    outcome.note = `its key had another record at offset ${other} meanwhile, which it now stands behind: publish that one again`;
  }
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
