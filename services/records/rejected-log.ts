import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { KafkaCluster } from '../../infra/kafka/client/kafka-cluster.ts';
import { commandGiveUpMs } from '../../infra/kafka/client/logged-back-off.ts';
import { RejectedTopic } from '../../infra/kafka/log/rejected-topic.ts';
import { placeOf } from '../../infra/reject-places.ts';
import { whyBad } from '../../projector/intake/validator.ts';
import type { Reject } from '../../projector/ports/event-log.ts';
import { decodeKey, decoderFor, decodeWith, isNeeded } from '../../schemas/avro/codec.ts';
import { isBatchFault, kindOf } from '../../schemas/avro/undecodable.ts';
import { type AnyRecord, isTopicName, topicNames } from '../../schemas/events/records.ts';
import { knownSchemas, openSchemas } from '../backends/known-schemas.ts';
import { closing } from '../cli/closing.ts';
import { type Io, UsageError } from '../cli/io.ts';
import { withLog } from '../serve/open-event-log.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';
import { badInLog } from './bad-in-log.ts';

export interface RejectedLog {
  rejects: Reject[];
  /** Where they are, in words. */
  where: string;
  /** Whether it is still the last record of its key. */
  isUnresolved(reject: Reject): boolean;
  /** Whether the log holds it, and it is not set aside. */
  isMissing(reject: Reject): boolean;
}

export const rejectPlace = ({ topic, partition, offset }: Pick<Reject, 'topic' | 'partition' | 'offset'>): string =>
  `${topic}/${partition}@${offset}`;

/**
 * All bad records of the log that the settings or `archive` name, each once, in the order of their places: those that are set
 * aside, and those that the log itself holds.
 */
export const readRejectedLog = (command: string, archive: string | undefined, settings: Settings, io: Io) =>
  withLog(command, archive, settings, io, async (log, chosen): Promise<RejectedLog> => {
    const { where, kafka } = chosen;
    if (!kafka) {
      const setAside = [...archiveRejected(chosen)];
      const { rejects, isLast } = await badInLog(log, setAside, io.signal);
      return { rejects: each([...rejects, ...setAside]), where, isUnresolved: isLast, isMissing: () => false };
    }
    // The log first: a bad record that comes meanwhile is not missed in what is set aside.
    const { rejects, isLast, holds } = await badInLog(log, [], io.signal);
    const setAside = await readRejected(kafka, io);
    const isSetAside = new Set(setAside.map(placeOf));
    return {
      rejects: each([...rejects, ...setAside]),
      where,
      isUnresolved: (reject) => holds(reject) && isLast(reject),
      isMissing: (reject) => !isSetAside.has(placeOf(reject)),
    };
  });

/** What is set aside in Kafka, each record once, in the order of places. */
export async function readRejected(kafka: KafkaSettings, { log, signal }: Io): Promise<Reject[]> {
  const cluster = new KafkaCluster(kafka);
  const rejects: Reject[] = [];
  const take = (some: Reject[]) => rejects.push(...some);
  const topic = new RejectedTopic(cluster, kafka.topicPrefix, { log, giveUpMs: commandGiveUpMs });
  await closing([cluster], () => topic.readOn(take, signal, () => rejects.splice(0)));
  return each(rejects);
}

/** Each record once, in the order of their places. A projector may set a record aside twice. */
function each(rejects: readonly Reject[]): Reject[] {
  const byPlace = new Map(rejects.map((reject) => [placeOf(reject), reject]));
  const rank = ({ topic }: Reject): number => (topicNames as readonly string[]).indexOf(topic);
  return [...byPlace.values()].sort((a, b) => rank(a) - rank(b) || a.partition - b.partition || a.offset - b.offset);
}

/** Which bad records a command is about. */
export interface RejectChoice {
  reason?: string;
  place?: string[];
}

/** The bad records of a reason or kind of reasons, or at some places. Throws UsageError if there is none. */
export function chosen(command: string, rejects: readonly Reject[], { reason, place }: RejectChoice): Reject[] {
  const places = new Set(rejects.map(rejectPlace));
  for (const one of place ?? []) {
    if (places.has(one)) continue;
    throw new UsageError(
      `Cannot run ${command}: there is no rejected record at --place ${one}, want such as nights/1@234; rejected list says them`,
    );
  }
  const isOf = (one: Reject): boolean => reason === undefined || reason === one.reason || reason === kindOf(one.reason);
  if (!rejects.some(isOf) && reason !== undefined) {
    const reasons = [...new Set(rejects.map((one) => kindOf(one.reason)))].sort();
    throw new UsageError(
      `Cannot run ${command}: there is no rejected record of --reason ${JSON.stringify(reason)}${reasons.length > 0 ? `, but of ${reasons.map((one) => JSON.stringify(one)).join(', ')}` : ''}`,
    );
  }
  return rejects.filter((one) => isOf(one) && (!place || place.includes(rejectPlace(one))));
}

/** A bad record, judged by this version. */
export interface Judged {
  /** Why it is bad; null: it is good now. */
  reason: string | null;
  /** Null where they can't be read. */
  key: string | null;
  value: AnyRecord | null;
}

/** Judges a bad record anew (docs/rules.md#resubmitted-records), as the projector would. By now its schema may be known, or a rule may have changed. */
export function rejectJudge(settings: Settings, { log, signal }: Pick<Io, 'log' | 'signal'>) {
  const writers = knownSchemas(settings);
  const { source, close } = openSchemas(settings, writers, log, false);
  const judge = async ({ topic, reason, raw }: Reject): Promise<Judged> => {
    if (isBatchFault(reason)) return { reason, key: null, value: null };
    if (!isTopicName(topic)) return { reason: 'unknown topic', key: null, value: null };
    const decoded = decodeKey(raw.key);
    if ('bad' in decoded) return { reason: decoded.bad, key: null, value: null };
    const { key } = decoded;
    let decoder = raw.value && decoderFor(topic, raw.value, writers);
    if (isNeeded(decoder) && source) {
      writers.add(decoder.needs, await source.lookUp(decoder.needs, signal));
      decoder = decoderFor(topic, raw.value!, writers);
    }
    if (isNeeded(decoder)) decoder = writers.whyUnknown(topic, decoder.needs);
    const value = decoder === null ? null : decodeWith(decoder, raw.value!);
    const now = whyBad({ topic, keyBytes: raw.key, valueBytes: raw.value, decoder });
    return { reason: now, key, value: value && 'value' in value ? value.value : null };
  };
  return { judge, close };
}

export type RejectJudge = ReturnType<typeof rejectJudge>['judge'];
