import { expect, test } from 'vitest';
import { UnresolvedRejects } from '../../../projector/status/unresolved-rejects.ts';

const good = (key: string, topic: 'riders' | 'rides' | 'relations' = 'riders') => ({
  topic,
  keyBytes: Buffer.from(key),
});
const counts = (rejects: UnresolvedRejects) => [...rejects.byReason].filter(([, count]) => count > 0);

test('a bad record counts until its key has a later record', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', Buffer.from('r1'), 'not Avro');
  rejects.rejected('riders', Buffer.from('r2'), 'not Avro');
  expect(counts(rejects)).toEqual([['not Avro', 2]]);
  rejects.passed(good('r1'));
  rejects.passed(good('r2'));
  expect(counts(rejects)).toEqual([]);
});

test('a later bad record of the same key counts in its place', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', Buffer.from('r1'), 'not Avro');
  rejects.rejected('riders', Buffer.from('r1'), 'trailing bytes');
  expect(counts(rejects)).toEqual([['trailing bytes', 1]]);
});

test('records of other keys and topics change nothing', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', Buffer.from('a-r1'), 'not Avro');
  rejects.passed(good('b-r1'));
  rejects.passed(good('a-r1', 'rides'));
  expect(counts(rejects)).toEqual([['not Avro', 1]]);
});

test('a record in bytes is known by its key', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('relations', Buffer.from('käy/me'), 'not Avro');
  rejects.passed(good('käy/me', 'relations'));
  expect(counts(rejects)).toEqual([]);
});

test('what has no key stays, and keys that are no text are told apart', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', null, 'no key');
  rejects.rejected('riders', Buffer.from([0xff]), 'key is not UTF-8');
  rejects.rejected('riders', Buffer.from([0xfe]), 'key is not UTF-8');
  expect(counts(rejects)).toEqual([
    ['no key', 1],
    ['key is not UTF-8', 2],
  ]);
});
