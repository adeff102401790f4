import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalBytes, encodeValue, readerFor, readValue } from '../../../schemas/avro/codec.ts';
import type { TopicReader } from '../../../schemas/avro/topic-reader.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { arbitraryRecords, sampleRecords } from '../../support/records.ts';

const numRuns = Number(process.env.RUNS ?? 2_000);
const writers = new WriterSchemas();
const readerOf = (topic: TopicName, bytes: Buffer): TopicReader => readerFor(topic, bytes, writers) as TopicReader;

/** A value's bytes, with some of them changed, left out or put in. */
function changedBytes(topic: TopicName): fc.Arbitrary<Buffer> {
  const edit = fc.record({ at: fc.nat(), drop: fc.nat(2), put: fc.uint8Array({ maxLength: 3 }) });
  return fc.tuple(arbitraryRecords[topic], fc.array(edit, { minLength: 1, maxLength: 3 })).map(([value, edits]) => {
    let bytes = encodeValue(topic, value as never);
    for (const { at, drop, put } of edits) {
      const from = 10 + (at % (bytes.length - 9));
      bytes = Buffer.concat([bytes.subarray(0, from), put, bytes.subarray(from + drop)]);
    }
    return bytes;
  });
}

// docs/rules.md#archived-record
describe.each(topicNames)('bytes of %s that are copied as they came', (topic) => {
  it('are all that our writer makes', () => {
    fc.assert(
      fc.property(arbitraryRecords[topic], (value) => {
        const bytes = encodeValue(topic, value as never);
        expect(canonicalBytes(readerOf(topic, bytes), bytes)).toEqual(bytes.subarray(10));
      }),
    );
  });

  it('are only those that our writer makes of the value that they are', () => {
    let copied = 0;
    fc.assert(
      fc.property(changedBytes(topic), (bytes) => {
        const reader = readerOf(topic, bytes);
        if (canonicalBytes(reader, bytes) === null) return;
        copied++;
        const read = readValue(reader, bytes);
        expect(read).toHaveProperty('value');
        expect(encodeValue(topic, (read as { value: never }).value)).toEqual(bytes);
      }),
      { numRuns },
    );
    expect(copied).toBeGreaterThan(0);
  });
});

describe('bytes that say the same in another way are not copied as they came', () => {
  const good = encodeValue('rides', { ...sampleRecords.rides, leaders: ['a', 'b'] });
  const reader = readerOf('rides', good);
  const leaders = Buffer.from('0402610262' + '00', 'hex');
  const at = good.indexOf(leaders);
  const withLeaders = (hex: string): Buffer =>
    Buffer.concat([good.subarray(0, at), Buffer.from(hex, 'hex'), good.subarray(at + leaders.length)]);

  it.each([
    ['an array in two blocks', withLeaders('02026102026200')],
    ['an array in a block that states its size', withLeaders('03080261026200')],
    ['a number in two bytes where one would do', withLeaders('8400' + '02610262' + '00')],
    ['an empty array in two bytes', withLeaders('8000')],
  ])('%s', (_, bytes) => {
    const read = readValue(reader, bytes);
    expect(read).toHaveProperty('value');
    expect(canonicalBytes(reader, bytes)).toBeNull();
  });

  it('nor are bytes after the value, or of another writer’s schema', () => {
    expect(canonicalBytes(reader, good)).not.toBeNull();
    expect(canonicalBytes(reader, Buffer.concat([good, Buffer.from([0])]))).toBeNull();
    expect(canonicalBytes({ ...reader, isCanonical: null }, good)).toBeNull();
    expect(canonicalBytes('not Avro', good)).toBeNull();
  });
});
