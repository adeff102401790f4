import { expect, test } from 'vitest';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { rejectJudge } from '../../../services/records/rejected-log.ts';
import { resubmit } from '../../../services/records/rejected-resubmit.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { quietIo } from '../../support/processes/heard.ts';
import { emptyLog, publishedRider, startMs } from '../../support/worlds/archive-load.ts';

const { signal } = new AbortController();
const later = 'its key has had a later record';
const gone = 'the log does not hold it: it was deleted, or is of another log. Have its producer send it again';

/** A rider's record that no version could read, until now. */
const reject = (key: string | null, offset: number, partition = 0, time = 5): Reject => ({
  topic: 'riders',
  partition,
  offset,
  timestampMs: startMs + time,
  reason: 'unknown schema fingerprint',
  raw: { key: key === null ? null : Buffer.from(key), value: publishedRider(key ?? 'ada').value, headers: {} },
});

/** What becomes of bad records beside a log of riders at partition 0, from offset `low`, with keys and times. */
async function outcomesOf(riders: [string, number][], rejects: Reject[], { low = 0, compacted = false } = {}) {
  const log = emptyLog(2, low);
  for (const [key, time] of riders)
    await log.publish('riders', [{ partition: 0, ...publishedRider(key), timestampMs: startMs + time }]);
  if (compacted) log.compact(() => false);
  const { judge } = rejectJudge(loadSettings({}), quietIo);
  const outcomes = await resubmit(rejects, rejects, { log, publisher: log, judge, signal });
  return outcomes.map(({ now, note }) => note ?? now);
}

// docs/rules.md#resubmitted-records
test('a bad record goes behind what is before it in its partition, whatever its time, and not over what is behind it', async () => {
  const log: [string, number][] = [
    ['ada', 5],
    ['ada', 5],
    ['bo', 5],
    ['cy', 5],
    ['cy', 4],
  ];
  const rejects = [reject('ada', 1), reject('bo', 2), reject('cy', 3)];
  expect(await outcomesOf(log, rejects)).toEqual(['riders/0@5', 'riders/0@6', later]);
});

test('a bad record that was compacted away is superseded by a later record of its key', async () => {
  const log: [string, number][] = [
    ['ada', 5],
    ['ada', 4],
  ];
  expect(await outcomesOf(log, [reject('ada', 0)], { compacted: true })).toEqual([later]);
});

test('a bad record that the log does not hold is not published: it was deleted, or its place is beyond the end, of no partition, or another record’s', async () => {
  expect(await outcomesOf([], [reject('ada', 2), reject('ada', 4)], { low: 5 })).toEqual([later, gone]);
  const rejects = [reject('ada', 9), reject('ada', 0, 7), reject('cy', 0), reject('bo', 0, 0, 6)];
  expect(await outcomesOf([['bo', 5]], rejects)).toEqual(rejects.map(() => gone));
});

test('a record without a key is still bad, whatever stands behind it', async () => {
  expect(await outcomesOf([], [reject(null, 0), reject(null, 1)])).toEqual(
    Array(2).fill('it still breaks a rule: no key'),
  );
});
