import { expect, test } from 'vitest';
import { UnresolvedRejects, unknownSchemaWords } from '../../../projector/status/unresolved-rejects.ts';

// docs/rules.md#last-good-record
test('of a key only its last record counts, with its own reason, and none once that is good; what has no key stays', () => {
  const rejects = new UnresolvedRejects();
  const counts = () => [...rejects.byReason].filter(([, count]) => count > 0);
  const [key, other, ...noText] = [Buffer.from('ada'), Buffer.from('bo'), Buffer.of(0xff), Buffer.of(0xfe)];
  for (const reason of ['no key', 'no key', 'time outside the day']) rejects.rejected('riders', key!, reason);
  rejects.passed({ topic: 'riders', keyBytes: other! });
  rejects.passed({ topic: 'rides', keyBytes: key! });
  expect(counts()).toEqual([['time outside the day', 1]]);
  for (const _ of ['good', 'good']) rejects.passed({ topic: 'riders', keyBytes: key! });
  expect(counts()).toEqual([]);
  rejects.rejected('riders', null, 'no key');
  rejects.passed({ topic: 'riders', keyBytes: null });
  for (const one of noText) rejects.rejected('riders', one, 'key is not UTF-8');
  expect(new Map(counts())).toEqual(
    new Map([
      ['no key', 1],
      ['key is not UTF-8', 2],
    ]),
  );
  for (const reason of ['unknown fingerprint', 'unknown schema id', 'not Avro'])
    rejects.rejected('rides', null, reason);
  expect(rejects.ofUnknownSchemas).toBe(2);
  const words =
    /^1 record of a schema that .* Put the schema into WRITER_SCHEMAS, and restart the projectors; rejected list /;
  expect([0, 1].map(unknownSchemaWords)).toEqual(['', expect.stringMatching(words)]);
});
