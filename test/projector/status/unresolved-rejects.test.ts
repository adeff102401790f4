import { expect, test } from 'vitest';
import { UnresolvedRejects } from '../../../projector/status/unresolved-rejects.ts';

const counts = (rejects: UnresolvedRejects) => [...rejects.byReason].filter(([, count]) => count > 0);

test('what has no key stays, and keys that are no text are told apart', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', null, 'no key');
  rejects.passed({ topic: 'riders', keyBytes: null });
  for (const byte of [0xff, 0xfe]) rejects.rejected('riders', Buffer.from([byte]), 'key is not UTF-8');
  expect(counts(rejects)).toEqual([
    ['no key', 1],
    ['key is not UTF-8', 2],
  ]);
});

// docs/rules.md#last-good-record
test('of a key only its last record counts, with its own reason, and none once that is good', () => {
  const rejects = new UnresolvedRejects();
  const [key, other] = [Buffer.from('ada'), Buffer.from('bo')];
  for (const reason of ['no key', 'no key', 'time outside the day']) rejects.rejected('riders', key, reason);
  rejects.passed({ topic: 'riders', keyBytes: other });
  rejects.passed({ topic: 'rides', keyBytes: key });
  expect(counts(rejects)).toEqual([['time outside the day', 1]]);
  for (const _ of ['good', 'good']) rejects.passed({ topic: 'riders', keyBytes: key });
  expect(counts(rejects)).toEqual([]);
});
