import { batchHeaders } from '../../infra/kafka/protocol/record-batch.ts';
import type { EventLog, RawRecord, Reject } from '../../projector/ports/event-log.ts';
import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { isBatchFault } from '../../schemas/avro/undecodable.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { openKafkaLog, openKafkaPublisher } from '../backends/open-kafka.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needKafka, tell, UsageError } from '../cli/io.ts';
import { type BadInLog, badInLog } from './bad-in-log.ts';
import { chosen, type RejectChoice, type RejectJudge, readRejected, rejectJudge, rejectPlace } from './rejected-log.ts';

/** What became of a bad record. Printed as it is by --json. */
interface Outcome {
  place: string;
  /** Its new place. Null: it was not published. */
  now: string | null;
  /** Why it was not published. */
  note: string | null;
}

/**
 * Publishes rejected records again, each to its own partition: those that break no rule any more and whose key has had no later
 * record (docs/rules.md#resubmitted-records). Exit code 1 if one of the others could not be published.
 */
export const runRejectedResubmit: Run<RejectChoice & { all?: boolean }> = async (options, settings, io) => {
  const kafka = needKafka(settings, 'rejected resubmit');
  const choices = [options.all, options.reason !== undefined, options.place !== undefined].filter(Boolean);
  if (choices.length !== 1)
    throw new UsageError('Cannot run rejected resubmit: want one of --all, --reason TEXT and --place PLACE');
  const rejects = await readRejected(kafka, io);
  const wanted = chosen('rejected resubmit', rejects, options);
  const log = openKafkaLog(kafka, settings, io);
  const publisher = openKafkaPublisher(kafka, io);
  const judging = rejectJudge(settings, io);
  return closing([log, publisher, judging], async () => {
    const outcomes = await resubmit(rejects, wanted, { log, publisher, judge: judging.judge, signal: io.signal });
    for (const outcome of outcomes) tell(io, options.json, outcome, [lineOf(outcome)]);
    const count = outcomes.filter(({ now }) => now !== null).length;
    if (!options.json) io.out(`Published ${count} of ${countText(outcomes.length, 'rejected record')}`);
    return outcomes.some(({ note }) => note !== null && note !== superseded) ? 1 : 0;
  });
};

/** `rejects`: all bad records of the log. `wanted`: those of them to publish again. */
export async function resubmit(
  rejects: readonly Reject[],
  wanted: readonly Reject[],
  deps: { log: EventLog; publisher: LogPublisher; judge: RejectJudge; signal: AbortSignal },
): Promise<Outcome[]> {
  const { log, publisher, judge, signal } = deps;
  const found = await badInLog(log, rejects, signal);
  const outcomes: Outcome[] = [];
  for (const reject of wanted) {
    const outcome: Outcome = { place: rejectPlace(reject), now: null, note: await whyNot(reject, found, judge) };
    outcomes.push(outcome);
    if (outcome.note !== null) continue;
    signal.throwIfAborted();
    outcome.now = await publishAgain(reject, publisher);
  }
  return outcomes;
}

/** Why a bad record that is good by now is left out all the same: no fault. */
const superseded = 'its key has had a later record';

/** Why a bad record is not published again. Null: it may be. */
async function whyNot(reject: Reject, { holds, isLast }: BadInLog, judge: RejectJudge): Promise<string | null> {
  if (isBatchFault(reject.reason)) return batchNote(reject.raw);
  // A record without a key stays bad.
  if (reject.raw.key !== null && !isLast(reject)) return superseded;
  if (reject.raw.key !== null && !holds(reject))
    return 'the log does not hold it: it was deleted, or is of another log. Have its producer send it again';
  const { reason } = await judge(reject);
  return reason && `it still breaks a rule: ${reason}`;
}

/** A bad batch is set aside as compressed bytes. Published as a record, they would be one more bad record. */
function batchNote({ headers }: RawRecord): string {
  const [last, codec] = [headers[batchHeaders.lastOffset], headers[batchHeaders.codec]];
  return `it stands for all records up to offset ${last}, in one batch (codec ${codec}): have its producer send them again, in smaller batches, or with smaller values or fewer headers`;
}

/** Publishes a bad record to its own partition, with the present time: it counts from now on. Returns where it is. */
async function publishAgain({ topic, partition, raw }: Reject, publisher: LogPublisher): Promise<string> {
  const headers = Object.entries(raw.headers).map(([key, value]) => ({ key, value }));
  const again = { partition, key: raw.key, value: raw.value, timestampMs: Date.now(), headers };
  const [place] = await publisher.publish(topic as TopicName, [again]);
  return rejectPlace({ topic, partition: place![0], offset: place![1] });
}

const lineOf = ({ place, now, note }: Outcome): string =>
  now === null ? `${foreignText(place)} is not published: ${note}` : `${place} is at ${now} now`;
