import { expect, test } from 'vitest';
import { UnresolvedRejects } from '../../../projector/status/unresolved-rejects.ts';

const good = (key: string, topic: 'riders' | 'rides' | 'relations' = 'riders') => ({
  topic,
  keyBytes: Buffer.from(key),
});
const counts = (rejects: UnresolvedRejects) => [...rejects.byReason].filter(([, count]) => count > 0);

test('a bad record counts until its key has a later record, good or bad, and no other key or topic matters', () => {
  const rejects = new UnresolvedRejects();
  for (const key of ['r1', 'r2']) rejects.rejected('riders', Buffer.from(key), 'not Avro');
  rejects.rejected('relations', Buffer.from('käy/me'), 'not Avro');
  expect(counts(rejects)).toEqual([['not Avro', 3]]);
  for (const other of [good('r3'), good('r1', 'rides'), good('käy/me')]) rejects.passed(other);
  expect(counts(rejects)).toEqual([['not Avro', 3]]);
  rejects.rejected('riders', Buffer.from('r1'), 'trailing bytes');
  expect(counts(rejects)).toEqual([
    ['not Avro', 2],
    ['trailing bytes', 1],
  ]);
  for (const one of [good('r1'), good('r2'), good('käy/me', 'relations')]) rejects.passed(one);
  expect(counts(rejects)).toEqual([]);
});

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
