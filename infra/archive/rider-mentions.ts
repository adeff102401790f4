import type { LogRecord, UndecodableRecord } from '../../projector/ports/decoded-record.ts';
import type { Reject } from '../../projector/ports/event-log.ts';
import { parseRecordKey } from '../../schemas/events/record-keys.ts';
import type { Attendance, Relation, Rider, TopicName } from '../../schemas/events/records.ts';

/** Which parts of the log are about a rider (docs/rules.md#archive-forget). */

const personal: ReadonlySet<TopicName> = new Set(['riders', 'attendance', 'relations']);

/** Whether a record is the rider's own. Such a record is removed as a whole. */
export function isOfRider(record: LogRecord | UndecodableRecord, rider: string): boolean {
  const { topic } = record;
  if ('key' in record) {
    if (isKeyOfRider(topic, record.key, rider)) return true;
    return personal.has(topic) && isValueOfRider(topic, record.value, rider);
  }
  const { key, value } = record.raw();
  return isBadRecordOfRider(topic, key, value, rider);
}

/** Whether a bad record is about the rider. It cannot be edited, so it is removed as a whole. */
export function isRejectOfRider({ topic, raw }: Reject, rider: string): boolean {
  const { key, value, headers } = raw;
  if (Object.entries(headers).some(([name, header]) => isWordIn(name, rider) || mentions(header, rider))) return true;
  return isBadRecordOfRider(topic, key, value, rider);
}

/** A bad record may be of another topic than it stands in: what matters is whether it names the rider. */
function isBadRecordOfRider(topic: TopicName, key: Buffer | null, value: Buffer | null, rider: string): boolean {
  return isKeyOfRider(topic, key?.toString('latin1') ?? '', rider) || (value !== null && mentions(value, rider));
}

function isKeyOfRider(topic: TopicName, key: string, rider: string): boolean {
  const parsed = parseRecordKey(topic, key);
  // In a bad key it is not known which part is what.
  if ('fault' in parsed) return isWordIn(key, rider);
  const { rider: first, other } = parsed.fields as Partial<Relation>;
  return first === rider || other === rider;
}

function isValueOfRider(topic: TopicName, value: LogRecord['value'], rider: string): boolean {
  if (value === null) return false;
  if ((value as Rider | Attendance | Relation).rider === rider) return true;
  return topic === 'relations' && (value as Relation).other === rider;
}

/** Whether bytes contain the id as an Avro string, or as a word in any text. */
export function mentions(bytes: Buffer, rider: string): boolean {
  // Ids have at most 64 characters, so the length takes one byte or, for 64, two.
  const length = rider.length < 64 ? [rider.length * 2] : [0x80, 0x01];
  return (
    bytes.includes(Buffer.concat([Buffer.from(length), Buffer.from(rider)])) ||
    isWordIn(bytes.toString('latin1'), rider)
  );
}

export const isWordIn = (text: string, rider: string): boolean =>
  text.includes(rider) && new RegExp(`(?<![A-Za-z0-9_-])${rider}(?![A-Za-z0-9_-])`).test(text);
