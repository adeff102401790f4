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
