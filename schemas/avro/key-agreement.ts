import { type KeyFields, keyShapes, type RecordKey } from '../events/record-keys.ts';
import type { TopicName } from '../events/records.ts';
import type { Cursor } from './avro-cursor.ts';
import type { Placed } from './placed.ts';

/** Whether a good key has the same fields as a value whose texts this cursor left in place (docs/rules.md#what-is-bad). */
export function agrees(topic: TopicName, key: RecordKey, value: Placed<KeyFields[TopicName]>, cursor: Cursor): boolean {
  const { names, rules } = keyShapes[topic];
  for (let i = 0; i < names.length; i++) {
    const field = (value as Record<string, number>)[names[i]!]!;
    if (rules[i] === 'day' ? key.day !== field : !key.isAt(i, field, cursor)) return false;
  }
  return true;
}

// The same for the two large topics. The loop above is slower.

export const isRsvp = (
  key: RecordKey,
  { ride, day, rider }: Placed<KeyFields['attendance']>,
  cursor: Cursor,
): boolean => key.day === day && key.isAt(0, ride, cursor) && key.isAt(2, rider, cursor);

export const isRelation = (key: RecordKey, { rider, other }: Placed<KeyFields['relations']>, cursor: Cursor): boolean =>
  key.isAt(0, rider, cursor) && key.isAt(1, other, cursor);
