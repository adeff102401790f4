import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { KafkaCluster } from '../../infra/kafka/client/kafka-cluster.ts';
import { RejectedTopic } from '../../infra/kafka/log/rejected-topic.ts';
import { badRecord, whyBad } from '../../projector/intake/validator.ts';
import type { Reject } from '../../projector/ports/event-log.ts';
import { decodeKey, decoderFor, decodeWith, isNeeded } from '../../schemas/avro/codec.ts';
import { isBatchFault, kindOf } from '../../schemas/avro/undecodable.ts';
import { type AnyRecord, isTopicName, topicNames } from '../../schemas/events/records.ts';
import { knownSchemas, openSchemas } from '../backends/known-schemas.ts';
import { needFolderName } from '../cli/empty-folder.ts';
import { type Io, UsageError } from '../cli/io.ts';
import { makeLogger } from '../cli/logger.ts';
import { eachOfTopic } from '../past/log/past-fold.ts';
import { type PastRecord, sourcesOf } from '../past/log/past-records.ts';
import { openPastLog, type PastLog } from '../past/past-log.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';

interface RejectedLog {
  rejects: Reject[];
  /** Where they are, in words. */
  where: string;
}

export const rejectPlace = ({ topic, partition, offset }: Pick<Reject, 'topic' | 'partition' | 'offset'>): string =>
  `${topic}/${partition}@${offset}`;

/** All bad records of the log that the settings or `archive` name, each once, in the order of their places. */
export async function readRejectedLog(
  command: string,
  archive: string | undefined,
  settings: Settings,
  io: Io,
): Promise<RejectedLog> {
  if (archive !== undefined) needFolderName(archive, `${command} --archive`);
  const dir = archive ?? settings.archiveDir;
  if (settings.kafka && archive === undefined) {
    const rejects = await rejectsInKafka(settings.kafka, settings, io);
    return { rejects: each(rejects), where: `Kafka at ${settings.kafka.brokers.join(', ')}` };
  }
  if (dir === null) {
    throw new UsageError(
      `Cannot run ${command}: want --archive DIR, or ARCHIVE_DIR or KAFKA_BROKERS: the log whose bad records to read`,
    );
  }
  const log = await openPastLog(command, archive, settings, io);
  const rejects = [...archiveRejected(log), ...(await badInArchive(log, io))];
  return { rejects: each(rejects), where: `the archive ${dir}` };
}

/** The bad records in an archive's topics. The archive's `rejected` has those that a save found in the log. */
async function badInArchive(log: PastLog, { signal }: Io): Promise<Reject[]> {
  const rejects: Reject[] = [];
  const sources = sourcesOf(log, 'timestamp');
  for (const topic of topicNames) {
    await eachOfTopic(sources, topic, signal, ({ record }) => {
      const { partition, offset, timestampMs } = record!;
      const reason = reasonOf(record!);
      if (reason !== null) rejects.push({ topic, partition, offset, timestampMs, reason, raw: record!.raw() });
    });
  }
  return rejects;
}

const reasonOf = (record: PastRecord): string | null =>
  'undecodable' in record ? record.undecodable : badRecord(record.topic, record.key, record.value);

async function rejectsInKafka(kafka: KafkaSettings, settings: Settings, io: Io): Promise<Reject[]> {
  const cluster = new KafkaCluster(kafka);
  const rejects: Reject[] = [];
  try {
    const topic = new RejectedTopic(cluster, kafka.topicPrefix, makeLogger(settings));
    await topic.readOn(
      (some) => rejects.push(...some),
      io.signal,
      () => rejects.splice(0),
    );
    return rejects;
  } finally {
    await cluster.close();
  }
}

/** Each record once, in the order of their places. A projector may set a record aside twice. */
function each(rejects: readonly Reject[]): Reject[] {
  const byPlace = new Map(rejects.map((reject) => [`${rejectPlace(reject)} ${reject.timestampMs}`, reject]));
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
      `Cannot run ${command}: there is no bad record at --place ${one}, want such as nights/1@234; rejected list says them`,
    );
  }
  const isOf = (one: Reject): boolean => reason === undefined || reason === one.reason || reason === kindOf(one.reason);
  if (!rejects.some(isOf) && reason !== undefined) {
    const reasons = [...new Set(rejects.map((one) => kindOf(one.reason)))].sort();
    throw new UsageError(
      `Cannot run ${command}: there is no bad record of --reason ${JSON.stringify(reason)}${reasons.length > 0 ? `, but of ${reasons.map((one) => JSON.stringify(one)).join(', ')}` : ''}`,
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
export function rejectJudge(settings: Settings, signal: AbortSignal) {
  const writers = knownSchemas(settings);
  const { source, close } = openSchemas(settings, writers, makeLogger(settings), false);
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
    if (isNeeded(decoder)) decoder = writers.unknown(topic, decoder.needs);
    const value = decoder === null ? null : decodeWith(decoder, raw.value!);
    const now = whyBad({ topic, keyBytes: raw.key, valueBytes: raw.value, decoder });
    return { reason: now, key, value: value && 'value' in value ? value.value : null };
  };
  return { judge, close };
}

export type RejectJudge = ReturnType<typeof rejectJudge>['judge'];
