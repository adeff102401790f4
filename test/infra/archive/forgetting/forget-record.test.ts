import { expect, it } from 'vitest';
import { recordForgetter } from '../../../../infra/archive/forgetting/forget-record.ts';
import { decoded } from '../../../../projector/ports/decoded-record.ts';
import { archivedSchemas, archivedTypes } from '../../../../schemas/avro/avro-types.ts';
import { gone, marks, night, ride, rider, says } from '../../../reference/example-log.ts';
import type { LoggedRecord } from '../../../reference/facts.ts';
import { toLogRecord } from '../../../support/worlds/histories.ts';

/** What is left of a record in an archive without the rider ada. */
function without(record: LoggedRecord, raw: string | null = null) {
  const place = { partition: 0, offset: 3, timestampMs: 7 };
  const type = archivedTypes[record.topic];
  const { key, value } = record;
  const rawValue = raw === null ? null : Buffer.from(raw);
  const stored = { partition: 0, offset: 3, timestamp: 7, key, value, headers: [], raw: rawValue };
  const block = type.toBuffer(stored as never);
  const forget = recordForgetter('ada', JSON.stringify(archivedSchemas[record.topic]));
  const { end, bytes, parts } = forget(
    { ...decoded(toLogRecord({ ...record, ...place })), rawValue } as never,
    block,
    0,
  );
  expect(end).toBe(block.length);
  return { left: bytes && type.fromBuffer(bytes), parts: [...parts] };
}

// docs/rules.md#archive-forget
it.each([
  rider('ada'),
  gone('riders', 'ada'),
  says('ada', 'GOING', 'loop', '2015-06-13'),
  marks('ada', 'bo', 'follows'),
  marks('bo', 'ada', 'follows'),
])('$topic $key goes whole with the rider', (record) => {
  expect(without(record)).toEqual({ left: null, parts: ['record'] });
});

it('a ride stays without the rider among its leaders, a value without the bytes that it came as, and others as they are', () => {
  const led = (...leaders: string[]) => ride('loop', { leaders });
  const { left, parts } = without(led('cem', 'ada', 'bo'));
  expect([left, parts]).toMatchObject([{ value: { leaders: ['cem', 'bo'] } }, ['leaders']]);
  expect(without(night('loop', '2015-06-13'), 'by ada')).toMatchObject({ left: { raw: null }, parts: ['raw'] });
  for (const record of [led('adam'), rider('bo'), says('adam', 'GOING', 'loop', '2015-06-13')])
    expect(without(record, 'by adam')).toMatchObject({ left: { raw: Buffer.from('by adam') }, parts: [] });
});
