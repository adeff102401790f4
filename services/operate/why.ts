import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { readPositions } from '../../infra/redis/leadership/who-leads.ts';
import { withRedis } from '../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { Fold } from '../../projector/facts/fold.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import { Validator, whyBad } from '../../projector/intake/validator.ts';
import type { EventLog, Position, RejectPlace } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';
import { parseStoredPosition, readableOf } from '../../projector/position/settled-position.ts';
import { realClock } from '../../projector/running/clock.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { parseRecordKey } from '../../schemas/events/record-keys.ts';
import { isTopicName, type TopicName } from '../../schemas/events/records.ts';
import { instantText } from '../cli/instant-texts.ts';
import { type ExitCode, type Io, UsageError } from '../cli/io.ts';
import { checkRider } from '../past/answers/past-answers.ts';
import { openRecordsLog } from '../records/records-log.ts';
import type { Settings } from '../settings/settings.ts';
import { type AnswerOf, hidingRules, WhyHidden } from './why-hidden.ts';

interface WhyOptions {
  key: string[];
  rider?: string;
  archive?: string;
  json?: boolean;
}

/** A key that is asked about, and what the log holds of it. */
interface Asked {
  topic: TopicName;
  key: string;
  /** The record in force. */
  last: (RejectPlace & { tombstone: boolean }) | null;
  /** Bad records behind it. */
  aside: (RejectPlace & { reason: string })[];
  misplaced: boolean;
}

/**
 * Says of each key what the log has, which kinds of answer show it, and all that hides it from the others, by rules. It prints
 * nothing that a record holds. Exit code 1 if a key is in no answer, or its last record is bad.
 */
export async function runWhy(options: WhyOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { rider = null, archive, json } = options;
  const asked = options.key.map(askedOf);
  checkRider('why', rider ?? undefined);
  const { log, partitioners } = await openRecordsLog('why', archive, settings, io);
  const fold = new Fold();
  try {
    await readAll(
      log,
      fold,
      new Map(asked.map((one) => [`${one.topic}/${one.key}`, one])),
      new MisplacedRecords(partitioners),
      io.signal,
    );
    const dir = archive ?? (settings.kafka ? null : settings.archiveDir);
    for (const reject of dir === null ? [] : archiveRejected({ dir, prefix: settings.topicPrefix })) {
      const one = asked.find(({ topic, key }) => topic === reject.topic && key === reject.raw.key?.toString());
      if (one && isBehind(reject, one)) one.aside.push({ ...reject });
    }
    const readable = archive === undefined && settings.kafka ? await readableNow(log, settings) : undefined;
    const why = new WhyHidden(fold.facts, { rider, nowMs: settings.nowMs ?? realClock.wallMs() });
    let isWell = true;
    for (const one of asked) {
      const parsed = parseRecordKey(one.topic, one.key);
      const answers = why.answers(one.topic, 'fields' in parsed ? parsed.fields : {});
      if (readable !== undefined && one.last && one.last.offset >= (readable?.[one.topic][one.last.partition] ?? 0))
        for (const { hidden } of answers) hidden.push('not readable yet');
      isWell &&= one.aside.length === 0 && answers.some(({ hidden }) => hidden.length === 0);
      if (json) io.out(JSON.stringify(shownOf(one, answers)));
      else for (const line of linesOf(one, answers)) io.out(line);
    }
    return isWell ? 0 : 1;
  } finally {
    await log.close();
  }
}

function askedOf(text: string): Asked {
  const [topic, ...rest] = text.split('/') as [string, ...string[]];
  const key = rest.join('/');
  const fault = isTopicName(topic)
    ? whyBad({ topic, keyBytes: Buffer.from(key), valueBytes: null, decoder: null })
    : 'unknown';
  if (fault === null) return { topic: topic as TopicName, key, last: null, aside: [], misplaced: false };
  // The key may be of a rider.
  throw new UsageError(
    `Cannot run why: an argument is no TOPIC/KEY, want such as nights/pp15r4935/2015-06-13 or rides/pp15r4935 (topic ${isTopicName(topic) ? `${topic}, ${fault}` : fault})`,
  );
}

/** Folds the log to its present ends, and notes what is asked about. */
async function readAll(
  log: EventLog,
  fold: Fold,
  asked: ReadonlyMap<string, Asked>,
  misplaced: MisplacedRecords,
  signal: AbortSignal,
): Promise<void> {
  const bounds = await log.bounds();
  const topics = new Set([...asked.values()].map(({ topic }) => topic));
  const validator = new Validator();
  await followToEnds(log, positionOf(bounds, 'low'), bounds, signal, ({ topic, records }) => {
    for (const record of records) {
      const isGood = validator.validate(record) === null;
      if (isGood) fold.apply(topic, validator.key, validator.value as never);
      const one = topics.has(topic) && asked.get(`${topic}/${record.keyBytes}`);
      if (!one) continue;
      const { partition, offset, timestampMs } = record;
      const place = { topic, partition, offset, timestampMs };
      one.misplaced ||= misplaced.take(record, bounds[topic].length);
      if (isGood) one.last = { ...place, tombstone: validator.value === null };
      if (isGood) one.aside = [];
      else one.aside.push({ ...place, reason: whyBad(record)! });
    }
  });
}

const isBehind = ({ partition, offset }: RejectPlace, { last }: Asked): boolean =>
  !last || (last.partition === partition && last.offset < offset);

/** Up to where the store says that all is readable; null: it does not say. Undefined: there is no store. */
async function readableNow(log: EventLog, { redis }: Settings): Promise<Position | null | undefined> {
  if (!redis) return undefined;
  const identity = await log.identity!();
  const positions = await withRedis(redis, (connection) => readPositions(connection, redisKeys(redis.keyPrefix)));
  return readableOf(
    (positions ?? []).map(parseStoredPosition).filter((stored) => stored !== null),
    identity,
  );
}

const ruleOf = (anchor: string): string => `docs/rules.md#${anchor}`;
const placeText = ({ topic, partition, offset }: RejectPlace): string => `${topic}/${partition}@${offset}`;

function shownOf({ topic, key, last, aside, misplaced }: Asked, answers: readonly AnswerOf[]) {
  const at = (place: RejectPlace) => ({ place: placeText(place), timestamp: instantText(place.timestampMs) });
  return {
    topic,
    key,
    record: last && { ...at(last), tombstone: last.tombstone },
    set_aside: aside.map((one) => ({ ...at(one), reason: one.reason })),
    misplaced,
    answers: answers.map(({ answer, hidden }) => ({
      answer,
      shown: hidden.length === 0,
      reasons: hidden.map((reason) => ({ reason, rule: ruleOf(hidingRules[reason]) })),
    })),
  };
}

function linesOf(asked: Asked, answers: readonly AnswerOf[]): string[] {
  const { topic, key, record, set_aside, misplaced, answers: shown } = shownOf(asked, answers);
  const last = record
    ? `${record.place}, ${record.timestamp}${record.tombstone ? `: a tombstone, it is gone (${ruleOf('tombstones')})` : ''}`
    : 'none in the log';
  return [
    foreignText(`${topic}/${key}`),
    `  last good record: ${last}`,
    ...set_aside.map(
      ({ place, timestamp, reason }) =>
        `  set aside since: ${place}, ${timestamp}: ${foreignText(reason)} (${ruleOf('last-good-record')})`,
    ),
    ...(misplaced
      ? [`  misplaced: another partition may have a later record of it (${ruleOf('one-partition-per-key')})`]
      : []),
    ...shown.flatMap(({ answer, reasons }) => [
      `  ${reasons.length === 0 ? 'shown' : 'not shown'}: ${answer}`,
      ...reasons.map(({ reason, rule }) => `    ${reason} (${rule})`),
    ]),
  ];
}
