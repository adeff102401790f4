import type { Reject } from '../../projector/ports/event-log.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import { showsNeighbourhood } from '../../projector/views/night.ts';
import { detailOf, kindOf } from '../../schemas/avro/undecodable.ts';
import { parseRecordKey } from '../../schemas/events/record-keys.ts';
import { isTopicName, type MeetingPlace } from '../../schemas/events/records.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { instantText } from '../cli/instant-texts.ts';
import {
  chosen,
  type Judged,
  type RejectChoice,
  type RejectedLog,
  readRejectedLog,
  rejectJudge,
  rejectPlace,
} from './rejected-log.ts';

interface RejectedListOptions extends RejectChoice {
  archive?: string;
  show?: boolean;
  personal?: boolean;
  secrets?: boolean;
}

/**
 * Lists bad records by reason, with counts and places, and which are unresolved: still the last of their key. With --show also the
 * fields that can be read. Exit code 1 where one is unresolved.
 */
export const runRejectedList: Run<RejectedListOptions> = async (options, settings, io) => {
  const { json, show } = options;
  const log = await readRejectedLog('rejected list', options.archive, settings, io);
  const wanted = chosen('rejected list', log.rejects, options);
  const { judge, close } = rejectJudge(settings, io);
  const shown = new Map<Reject, object>();
  await closing([{ close }], async () => {
    if (show) for (const reject of wanted) shown.set(reject, shownOf(reject, await judge(reject), options));
  });
  if (json) for (const reject of wanted) io.out(textOf({ ...placeOf(reject, log), ...shown.get(reject) }));
  else for (const line of linesOf(wanted, log, shown)) io.out(line);
  return wanted.some(log.isUnresolved) ? 1 : 0;
};

const placeOf = (reject: Reject, { isUnresolved, isMissing }: RejectedLog) => {
  const { topic, partition, offset, timestampMs, reason } = reject;
  const state = { unresolved: isUnresolved(reject), copied: !isMissing(reject) };
  return { topic, partition, offset, timestamp: instantText(timestampMs), reason, ...state };
};

function linesOf(rejects: readonly Reject[], log: RejectedLog, shown: ReadonlyMap<Reject, object>): string[] {
  const lines: string[] = [];
  for (const kind of [...new Set(rejects.map((reject) => kindOf(reject.reason)))].sort()) {
    const some = rejects.filter(({ reason }) => kindOf(reason) === kind);
    lines.push(`${String(some.length).padStart(6)}  ${foreignText(kind)}`);
    for (const reject of some) {
      const state = log.isUnresolved(reject) ? 'unresolved' : 'resolved  ';
      lines.push(
        `        ${state}  ${foreignText(rejectPlace(reject))}  ${instantText(reject.timestampMs)}  ${foreignText(detailOf(reject.reason))}`.trimEnd(),
      );
      if (shown.has(reject)) lines.push(`          ${textOf(shown.get(reject)!)}`);
    }
  }
  const [unresolved, missing] = [rejects.filter(log.isUnresolved).length, rejects.filter(log.isMissing).length];
  lines.push(
    `${countText(rejects.length, 'rejected record')} in ${log.where}, ${unresolved} unresolved: still the last of their key`,
  );
  if (missing > 0)
    lines.push(
      `${missing} of them are in the log and not in the topic of rejected records: the projector that leads copies them there, within seconds`,
    );
  return lines;
}

const hidden = '(hidden)';
const personalTopics = new Set<string>(['riders', 'attendance', 'relations']);
const personalFields = new Set(['rider', 'other', 'handle', 'name', 'leaders']);
const credentialFields = new Set(['key_hash', 'label']);

/** The fields of a bad record that can be read, and the reason why it is rejected now. Hides riders and secret places. */
function shownOf({ topic, raw }: Reject, { key, value, reason }: Judged, options: RejectedListOptions): object {
  // A key that is off its pattern may hold anything.
  const mayShowKey =
    options.personal ||
    (isTopicName(topic) && !personalTopics.has(topic) && key !== null && 'fields' in parseRecordKey(topic, key));
  const bytes = { key_bytes: raw.key?.length ?? null, value_bytes: raw.value?.length ?? null };
  const read =
    value && Object.fromEntries(Object.entries(value).map((field) => [field[0], shownField(topic, field, options)]));
  return { reason_now: reason, key: key === null || mayShowKey ? key : hidden, ...bytes, value: read };
}

function shownField(
  topic: string,
  [name, value]: [string, unknown],
  { personal, secrets }: RejectedListOptions,
): unknown {
  if (credentialFields.has(name)) return hidden;
  const isPersonal = personalFields.has(name) && (name === 'leaders' || personalTopics.has(topic));
  if (isPersonal && !personal) return hidden;
  if (name !== 'meeting' || value === null || secrets) return value;
  const meeting = value as MeetingPlace;
  if (!meeting.secret) return meeting;
  return { ...meeting, place_name: hidden, ...(!showsNeighbourhood(meeting) && { district: hidden }) };
}

/** Numbers beyond 2^53 come as bigints. */
const textOf = (object: object): string =>
  JSON.stringify(object, (_, value) => (typeof value === 'bigint' ? value.toString() : value));
