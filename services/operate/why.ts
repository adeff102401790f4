import { archiveRejected } from '../../infra/archive/format/archive-rejects.ts';
import { readPositions } from '../../infra/redis/leadership/who-leads.ts';
import { withRedis } from '../../infra/redis/redis-connection.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { Fold } from '../../projector/facts/fold.ts';
import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import { Validator, whyBad } from '../../projector/intake/validator.ts';
import type { RejectPlace } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';
import { readableOf } from '../../projector/position/settled-position.ts';
import { realClock } from '../../projector/running/clock.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { isTopicName, type TopicName } from '../../schemas/events/records.ts';
import type { Run } from '../cli/commands.ts';
import { instantText } from '../cli/instant-texts.ts';
import { tell, UsageError } from '../cli/io.ts';
import { checkRider } from '../past/answers/past-answers.ts';
import { rejectPlace } from '../records/rejected-log.ts';
import { withLog } from '../serve/open-event-log.ts';
import { hidingRules, whyHidden } from './why-hidden.ts';

/** A key that is asked about, and what the log holds of it. */
interface Asked {
  topic: TopicName;
  key: string;
  /** The record in force. */
  last: (RejectPlace & { tombstone: boolean }) | null;
  bad: (RejectPlace & { reason: string })[];
  misplaced: boolean;
}

/**
 * Says of each key what the log has, which kinds of answer show it, and all that hides it from the others, by rules. It prints
 * nothing that a record holds. Exit code 1 if a key is in no answer, or its last record is bad.
 */
export const runWhy: Run<{ key: string[]; rider?: string; archive?: string }> = async (options, settings, io) => {
  const { rider = null, archive, json } = options;
  const { redis, nowMs } = settings;
  const asked = options.key.map((text, i) => askedOf(text, i + 1));
  checkRider('why', rider ?? undefined);
  return withLog('why', archive, settings, io, async (log, chosen) => {
    const bounds = await log.bounds();
    const byKey = new Map(asked.map((one) => [`${one.topic}/${one.key}`, one]));
    const topics = new Set(asked.map(({ topic }) => topic));
    const misplaced = new MisplacedRecords(chosen.partitioners);
    const [validator, fold] = [new Validator(), new Fold()];
    await followToEnds(log, positionOf(bounds, 'low'), bounds, io.signal, ({ topic, records }) => {
      for (const record of records) {
        const isGood = validator.validate(record) === null;
        if (isGood) fold.apply(validator.good);
        const one = topics.has(topic) && byKey.get(`${topic}/${record.keyBytes}`);
        if (!one) continue;
        const { partition, offset, timestampMs } = record;
        const place = { topic, partition, offset, timestampMs };
        one.misplaced ||= misplaced.take(record, bounds[topic].length);
        if (isGood) one.last = { ...place, tombstone: validator.value === null };
        else one.bad.push({ ...place, reason: whyBad(record)! });
      }
    });
    for (const { raw, ...reject } of chosen.kafka ? [] : archiveRejected(chosen))
      asked.find(({ topic, key }) => topic === reject.topic && key === raw.key?.toString())?.bad.push(reject);
    const identity = chosen.kafka && redis ? await log.identity!() : null;
    const ask = () => withRedis(redis!, (connection) => readPositions(connection, redisKeys(redis!.keyPrefix)));
    const readable = identity !== null && readableOf(await ask(), identity);
    let isWell = true;
    for (const one of asked) {
      const { topic, key, last } = one;
      const isReadable = readable === false || !last || last.offset < (readable?.[topic][last.partition] ?? 0);
      const as = { rider, nowMs: nowMs ?? realClock.wallMs(), isReadable };
      const shown = shownOf(one, whyHidden(fold.facts, topic, key, as));
      isWell &&= shown.rejected.length === 0 && shown.answers.some((answer) => answer.shown);
      tell(io, json, shown, linesOf(shown));
    }
    return isWell ? 0 : 1;
  });
};

function askedOf(text: string, number: number): Asked {
  const [topic = '', ...rest] = text.split('/');
  const key = rest.join('/');
  const known = isTopicName(topic) ? topic : null;
  const fault = known && whyBad({ topic: known, keyBytes: Buffer.from(key), valueBytes: null, decoder: null });
  if (known && fault === null) return { topic: known, key, last: null, bad: [], misplaced: false };
  // The key may be of a rider.
  throw new UsageError(
    `Cannot run why: argument ${number} is no TOPIC/KEY, want such as nights/pp15r4935/2015-06-13 or rides/pp15r4935 (topic ${known ? `${known}, ${fault}` : 'unknown'})`,
  );
}

const ruleOf = (anchor: string): string => `docs/rules.md#${anchor}`;

/** What is said of a key, in the form of its JSON. */
function shownOf({ topic, key, last, bad, misplaced }: Asked, answers: ReturnType<typeof whyHidden>) {
  const at = (place: RejectPlace) => ({ place: rejectPlace(place), timestamp: instantText(place.timestampMs) });
  const aside = bad.filter(({ partition, offset }) => last?.partition !== partition || last.offset < offset);
  return {
    topic,
    key,
    record: last && { ...at(last), tombstone: last.tombstone },
    rejected: aside.map((one) => ({ ...at(one), reason: one.reason })),
    misplaced,
    answers: answers.map(({ answer, hidden }) => ({
      answer,
      shown: hidden.length === 0,
      reasons: hidden.map((reason) => ({ reason, rule: ruleOf(hidingRules[reason][0]) })),
    })),
  };
}

function linesOf({ topic, key, record, rejected, misplaced, answers }: ReturnType<typeof shownOf>): string[] {
  const gone = record?.tombstone ? `: a tombstone, it is gone (${ruleOf('tombstones')})` : '';
  const aside = ruleOf('last-good-record');
  return [
    foreignText(`${topic}/${key}`),
    `  last good record: ${record ? `${record.place}, ${record.timestamp}${gone}` : 'none in the log'}`,
    ...rejected.map(
      ({ place, timestamp, reason }) => `  rejected: ${place}, ${timestamp}: ${foreignText(reason)} (${aside})`,
    ),
    ...(misplaced
      ? [`  misplaced: another partition may have a later record of it (${ruleOf('one-partition-per-key')})`]
      : []),
    ...answers.flatMap(({ answer, shown, reasons }) => [
      `  ${shown ? 'shown' : 'not shown'}: ${answer}`,
      ...reasons.map(({ reason, rule }) => `    ${reason} (${rule})`),
    ]),
  ];
}
