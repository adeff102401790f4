import { expect, it } from 'vitest';
import { checkHistory, usualLimitMs } from './checker.ts';
import type { EventOf, Finding, HistoryEvent } from './history.ts';

const place = { topic: 'rides', partition: 0 };

const published = (n: number, at: number, more: Partial<EventOf<'publish'>> = {}): HistoryEvent => {
  const version = { probe: 'ride', n, gone: false };
  return { type: 'publish', at, sent: at - 5, as: 'good', ...place, offset: n, version, ...more };
};

/** A reader of an API is told which version of the ride there is. */
const told = (ride: number | boolean, start: number, more: Partial<EventOf<'answer'>> = {}): HistoryEvent => {
  const asked = { process: 'api-1', path: '/day', start, at: start + 3 };
  return { type: 'answer', ...asked, status: 200, etag: null, hash: null, shows: { ride }, ...more };
};
const elsewhere = { process: 'api-2' };
const fault = (begin: number, at: number, name = 'redis paused'): HistoryEvent => {
  return { type: 'fault', begin, at, name, target: 'redis' };
};
const lost: HistoryEvent = { type: 'lost', at: 4_000, ...place, offset: 3 };
const bad = published(0, 1_000, { as: 'bad', offset: 9, version: null });
const reject: HistoryEvent = { type: 'reject', at: 9_000, ...place, offset: 9 };
const keyGone = published(2, 2_000, { version: { probe: 'ride', n: 2, gone: true } });
const ended = (asked: 'stop' | null, code: number): HistoryEvent => {
  return { type: 'ended', at: 1, ...elsewhere, asked, code };
};
const final: HistoryEvent = { type: 'final', at: 9_000, ...elsewhere, path: '/', answered: '{ }', replay: '{}' };
const deposed = (begin: number) => fault(begin, 9_000, 'leader paused and deposed');
const stale = fault(2_000, 9_000);

/** Of histories in which a ride is published once and again. */
const histories: [name: string, rule: Finding['rule'] | null, ...HistoryEvent[]][] = [
  ['an answer that goes back at one process', 'back', told(2, 2_500), told(1, 2_600)],
  ['an answer that another process gave a moment before', null, told(2, 2_500), told(1, 2_600, elsewhere)],
  ['another process that is stale for 2 s, in a fault', 'older', stale, told(2, 2_500), told(1, 4_600, elsewhere)],
  ['an empty day, once the ride was told', 'older', stale, told(2, 2_500), told(false, 4_600, elsewhere)],
  ['a 404 of a ride that was told', 'back', told(false, 2_500, { status: 404 })],
  ['a change that cannot be read after 2 s', 'late', told(1, 4_100)],
  ['a change that cannot be read within 15 s of a fault', null, fault(2_100, 3_000), told(1, 17_900)],
  ['a change that cannot be read 15 s after a fault', 'late', fault(2_100, 3_000), told(1, 18_100)],
  ['a key that is accepted once it is deleted', 'late', keyGone, told(true, 4_100)],
  ['what the log lost, told before', null, published(3, 3_000), told(3, 3_500), lost, told(2, 7_000)],
  ['what the log lost, told for ever', 'late', published(3, 3_000), lost, told(3, 7_000)],
  ['a version from the future', 'never published', told(2, 1_500)],
  ['one ETag for two bodies', 'bytes', ...['a', 'b'].map((hash) => told(2, 2_500, { etag: '"1"', hash }))],
  ['a final answer that differs in a byte', 'bytes', final],
  ['a bad record that is not set aside', 'rejects', bad],
  ['a good record that is set aside', 'rejects', reject],
  ['a bad record that is set aside twice', 'rejects', bad, reject, reject],
  ['the same by a leader that was stopped', null, bad, deposed(2_000), reject, reject],
  ['the same by one that was stopped much later', 'rejects', bad, deposed(6_000), reject, reject],
  ['an end that nobody asked for', 'ended', ended(null, 0)],
  ['a stop that fails', 'ended', ended('stop', 1)],
  ['a 503 without a fault', 'unanswered', told(2, 2_500, { status: 503 })],
  ['a 503 in a fault', null, fault(2_000, 3_000), told(2, 2_500, { status: 503 })],
  ['a 500 in a fault', 'unanswered', fault(2_000, 3_000), told(2, 2_500, { status: 500 })],
  ['a probe that nobody reads', 'history', published(1, 1_000, { version: { probe: 'other', n: 1, gone: false } })],
];

const rulesOf = (events: readonly HistoryEvent[]): string[] => {
  const findings = checkHistory(
    events.map((each, i) => ({ ...each, line: i + 1 })),
    usualLimitMs,
  );
  return [...new Set(findings.map(({ rule }) => rule))];
};
const seen = [published(1, 1_000), told(1, 1_500), published(2, 2_000)];

it.each(histories)('the checker judges %s: %s', (_, rule, ...events) => {
  const begun = events.includes(keyGone) ? seen.slice(0, 2) : seen;
  expect(rulesOf([...begun, ...events, { type: 'end', at: 20_000 }])).toEqual(rule === null ? [] : [rule]);
});

it('the checker judges nothing of a history that is cut off', () => {
  expect(rulesOf(seen)).toEqual(['history']);
});
