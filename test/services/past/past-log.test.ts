import { expect, it } from 'vitest';
import { doubtsOf, type PastLog } from '../../../services/past/past-log.ts';

const at = (day: number): number => Date.parse(`2026-01-0${day}T00:00:00Z`);
const saved = { exact_since: '2026-01-02T00:00:00.000Z', saved_until: '2026-01-05T00:00:00.000Z' };
const simulated = { developer_key: 'k', rider: 'r' };

it.each<[string, object | null, Partial<PastLog>, day: number, RegExp[]]>([
  ['within what a save covers', saved, {}, 3, []],
  ['at both of its ends', saved, {}, 2, []],
  ['before it', saved, {}, 1, [/^the archive has every record since 2026-01-02.*: of the time before/]],
  ['after it', saved, {}, 6, [/^the archive was saved until 2026-01-05.*: what was published later/]],
  ['of what simulate made', { simulated }, {}, 3, []],
  ['of that, with more behind it', { ...saved, saved_until: null, simulated }, { holdsMore: true }, 3, [/holds more/]],
  ['of a save that never came to the end', { exact_since: null }, {}, 3, [/no save of it has come to the end/]],
  ['of an archive without a manifest', null, {}, 3, [/no manifest says so$/]],
  ['of Kafka', null, { isCompacted: true }, 3, [/^Kafka is compacted/]],
])('an answer %s may be inexact for these reasons', (_, manifest, more, day, doubts) => {
  const log = { manifest, holdsMore: false, isCompacted: false, ...more } as PastLog;
  expect(doubtsOf(log, at(day))).toEqual(doubts.map((words) => expect.stringMatching(words)));
});
