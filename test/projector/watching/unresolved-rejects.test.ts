import { expect, test } from 'vitest';
import { UnresolvedRejects } from '../../../projector/watching/unresolved-rejects.ts';
import { sampleRecords } from '../../support/records.ts';

const good = (key: string, topic: 'riders' | 'rides' = 'riders', tombstone = false) => ({
  topic,
  partition: 0,
  offset: 0,
  timestampMs: 0,
  key,
  value: tombstone ? null : sampleRecords[topic],
  raw: () => ({ key: Buffer.from(key), value: null, headers: {} }),
});
const counts = (rejects: UnresolvedRejects) => [...rejects.byReason].filter(([, count]) => count > 0);

test('a bad record counts until its key has a later record, a tombstone too', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', Buffer.from('r1'), 'not Avro');
  rejects.rejected('riders', Buffer.from('r2'), 'not Avro');
  expect(counts(rejects)).toEqual([['not Avro', 2]]);
  rejects.passed(good('r1'));
  rejects.passed(good('r2', 'riders', true));
  expect(counts(rejects)).toEqual([]);
});

test('a later bad record of the same key counts in its place', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', Buffer.from('r1'), 'not Avro');
  rejects.rejected('riders', Buffer.from('r1'), 'trailing bytes');
  expect(counts(rejects)).toEqual([['trailing bytes', 1]]);
});

test('records of other keys and topics change nothing, whatever they have in common', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('riders', Buffer.from('a-r1'), 'not Avro');
  // As long, and ending alike.
  rejects.passed(good('b-r1'));
  rejects.passed(good('a-r1', 'rides'));
  expect(counts(rejects)).toEqual([['not Avro', 1]]);
});

test('a record in bytes is known by its key', () => {
  const rejects = new UnresolvedRejects();
  rejects.rejected('relations', Buffer.from('käy/me'), 'not Avro');
  const encoded = { topic: 'relations', keyBytes: Buffer.from('käy/me') } as Parameters<typeof rejects.passed>[0];
  rejects.passed(encoded);
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
