import { isUtf8 } from 'node:buffer';
import { topicTypes } from '../../../schemas/avro/avro-types.ts';
import { encodeValue, ownDecoder } from '../../../schemas/avro/codec.ts';
import { keyShapes } from '../../../schemas/events/record-keys.ts';
import { type AnyRecord, isTopicName, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import type { RecordToPublish } from '../../backends/publishing.ts';
import { instantText } from '../../cli/instant-texts.ts';
import { assertKnownMembers, jsonTypes, LineError, membersOf, throwFault } from './json-form.ts';

const members = new Set(['topic', 'key', 'value']);

/**
 * The record of a line of JSON (docs/rules.md#json-lines). `nowMs`: what revision and changed_at are where they are absent.
 * Whether the record is good is for the validator to say. Throws LineError.
 */
export function readLine(line: Buffer, nowMs: number): RecordToPublish {
  const { topic, key: given, value } = membersOf(jsonOf(line), 'the line', members);
  if (typeof topic !== 'string' || !isTopicName(topic))
    throw new LineError(`topic is not one of ${topicNames.join(', ')}`);
  if (value === undefined) throw new LineError('value is missing, want an object, or null for a tombstone');
  const valueBytes = value === null ? null : bytesOf(topic, value, nowMs);
  if (given === undefined && value === null) throw new LineError('key is missing, want the key of the tombstone');
  if (given !== undefined && !(typeof given === 'string' && given.isWellFormed()))
    throw new LineError('key is not a text of whole Unicode characters');
  const key = given ?? keyShapes[topic].names.map((name) => (value as Record<string, string>)[name]).join('/');
  return { topic, key, keyBytes: Buffer.from(key), valueBytes, decoder: ownDecoder(topic) };
}

/** A value from its JSON, encoded. */
function bytesOf(topic: TopicName, json: unknown, nowMs: number): Buffer {
  assertKnownMembers[topic](json, 'value');
  const value = json as { revision?: unknown; changed_at?: unknown };
  if (value.revision === undefined) value.revision = nowMs;
  if (value.changed_at === undefined) value.changed_at = instantText(nowMs);
  try {
    return encodeValue(topic, value as never, jsonTypes[topic]);
  } catch {
    return throwFault(jsonTypes[topic], value);
  }
}

function jsonOf(line: Buffer): unknown {
  if (!isUtf8(line)) throw new LineError('the line is not UTF-8');
  try {
    return JSON.parse(line.toString());
  } catch {
    // The parser's message would show a part of the line.
    throw new LineError('the line is not JSON, want an object such as {"topic":"rides","key":"taco","value":{…}}');
  }
}

/** The line of a record: what `readLine` makes the same record of. */
export const showLine = (topic: TopicName, key: string, value: AnyRecord | null): string =>
  JSON.stringify({ topic, key, value: value && jsonTypes[topic].fromBuffer(topicTypes[topic].toBuffer(value)) });

const lineBytesMax = 16 << 20;
const newline = 10;
const byteOrderMark = Buffer.from('\uFEFF');

/** The lines of an input, some at a time, each with its number. Blank ones are left out. Throws LineError. */
export async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<{ number: number; line: Buffer }[]> {
  let number = 0;
  let begun: Buffer[] = [];
  const whole = (end: Buffer) => {
    const line = begun.length > 0 ? Buffer.concat([...begun, end]) : end;
    begun = [];
    const isMarked = ++number === 1 && line.subarray(0, byteOrderMark.length).equals(byteOrderMark);
    return { number, line: isMarked ? line.subarray(byteOrderMark.length) : line };
  };
  const isBlank = ({ line }: { line: Buffer }) => line.length < 80 && line.toString('latin1').trim() === '';
  for await (const chunk of input) {
    const lines = [];
    let from = 0;
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, from)) {
      lines.push(whole(chunk.subarray(from, at)));
      from = at + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
    if (begun.reduce((sum, { length }) => sum + length, 0) > lineBytesMax)
      throw new LineError('the line is longer than 16 MiB');
    yield lines.filter((one) => !isBlank(one));
  }
  if (begun.length > 0) yield [whole(Buffer.alloc(0))].filter((one) => !isBlank(one));
}
