import { expect, it, test } from 'vitest';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { rejectJudge } from '../../../services/records/rejected-log.ts';
import { resubmit } from '../../../services/records/rejected-resubmit.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { quietIo } from '../../support/processes/heard.ts';
import { ran } from '../../support/processes/ran.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { emptyLog, publishedRider, startMs } from '../../support/worlds/archive-load.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const list = (...args: string[]) => ran(['rejected', 'list', ...args], { ARCHIVE_DIR: portlandDirectory });

it('rejected list says reasons, counts and places, of some where they are named', async () => {
  const { code, out } = await list();
  expect(code).toBe(1);
  expect(out).toContain('     1  time zone is not in the IANA database');
  expect(out).toContain(
    '        unresolved  metros/0@2  2015-06-02T03:00:00.000Z  field time_zone: want a Zone or Link name exactly as spelled there',
  );
  expect(out.at(-1)).toMatch(/^4 rejected records in the archive /);
  expect((await list('--place', 'metros/0@1', 'nights/0@76')).out.at(-1)).toMatch(/^2 rejected records/);
});

it('rejected list --show tells what can be read, and nothing of riders until it is told to', async () => {
  const only = ['--show', '--json', '--reason', 'rider related to themself'];
  const shown = async (...more: string[]) => JSON.parse((await list(...only, ...more)).out[0]!);
  const { reason_now, key, value } = await shown();
  expect(reason_now).toBe('rider related to themself: field other: want another rider than in field rider');
  expect([key, value]).toMatchObject(['(hidden)', { rider: '(hidden)', other: '(hidden)', follows: true }]);
  const personal = await shown('--personal');
  expect(personal.value.rider).toMatch(/^r\d+$/);
  expect(personal.key).toBe(`${personal.value.rider}/${personal.value.rider}`);
});

test('rejected list --show hides leaders and secret places until it is told to, and what proves a developer’s key always; places are in order', async () => {
  await using archive = await TestArchive.make(2);
  const { nights, rides, riders, attendance, 'developer-keys': key } = sampleRecords;
  const meeting = { ...nights.meeting!, secret: true, show_neighbourhood: false };
  const put = (topic: TopicName, partition: number, offset: number, value: Buffer | null, id = 'no id') =>
    archive.reject([
      { topic, partition, offset, timestampMs: 1, reason: 'no key', raw: { key: Buffer.from(id), value, headers: {} } },
    ]);
  put('rides', 1, 0, encodeValue('rides', rides));
  put('rides', 0, 5, encodeValue('rides', { ...rides, revision: 2n ** 60n }));
  put('nights', 0, 0, encodeValue('nights', { ...nights, meeting }));
  put('developer-keys', 0, 0, encodeValue('developer-keys', { ...key, label: 'Ada’s app' }));
  const shownPlace = { ...meeting, show_neighbourhood: true, district: 'alameda' };
  put('nights', 0, 1, encodeValue('nights', { ...nights, meeting: shownPlace }));
  put('riders', 0, 0, encodeValue('riders', { ...riders, name: 'Ada' }), 'r1');
  put('attendance', 0, 0, encodeValue('attendance', attendance), 'ride0001/2026-11-21/r1');
  put('metros', 0, 0, null, 'portland');
  const list = async (...more: string[]) => {
    const { out } = await ran(['rejected', 'list', '--show', '--json', '--archive', archive.dir, ...more]);
    return out.map((line) => JSON.parse(line));
  };
  const hidden = '(hidden)';
  const shown = await list();
  const places = shown.map(({ topic, partition, offset, key }) => `${topic}/${partition}@${offset} ${key}`);
  // A key that is off its pattern may hold anything.
  expect(places).toEqual([
    ...['metros/0@0 portland', `developer-keys/0@0 ${hidden}`, `riders/0@0 ${hidden}`, `rides/0@5 ${hidden}`],
    ...[`rides/1@0 ${hidden}`, `nights/0@0 ${hidden}`, `nights/0@1 ${hidden}`, `attendance/0@0 ${hidden}`],
  ]);
  const noPlace = { place_name: hidden, secret: true };
  expect(shown.map(({ value }) => value)).toMatchObject([
    ...[null, { key_hash: hidden, label: hidden }, { rider: hidden, handle: hidden, name: hidden }],
    ...[{ title: rides.title, leaders: hidden, revision: `${2n ** 60n}` }, { leaders: hidden }],
    ...[{ meeting: { ...noPlace, district: hidden } }, { meeting: { ...noPlace, district: 'alameda' } }],
    { rider: hidden, response: 'GOING' },
  ]);
  expect(shown[0]).toMatchObject({ key_bytes: 8, value_bytes: null });
  const all = await list('--personal', '--secrets');
  expect(all.map(({ value }) => value)).toMatchObject([
    ...[null, { key_hash: hidden, label: hidden }, { handle: riders.handle, name: 'Ada' }],
    ...[{ leaders: rides.leaders }, { leaders: rides.leaders }, { meeting }, { meeting: shownPlace }],
    { rider: 'r0001' },
  ]);
  expect([all[2].key, all[7].key]).toEqual(['r1', 'ride0001/2026-11-21/r1']);
});

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

const rider = (key: string, time: number) => ({ partition: 0, ...publishedRider(key), timestampMs: startMs + time });

/** What becomes of bad records beside a log of riders, from offset `low`. */
async function outcomesOf(riders: ReturnType<typeof rider>[], rejects: Reject[], { low = 0, compacted = false } = {}) {
  const log = emptyLog(2, low);
  for (const one of riders) await log.publish('riders', [one]);
  if (compacted) log.compact(() => false);
  const { judge } = rejectJudge(loadSettings({}), quietIo);
  const outcomes = await resubmit(rejects, rejects, { log, publisher: log, judge, signal });
  return outcomes.map(({ now, note }) => note ?? now);
}

// docs/rules.md#resubmitted-records
test('a bad record goes behind what is before it in its partition, whatever its time, and not over what is behind it, also where it was compacted away', async () => {
  const log = [rider('ada', 5), rider('ada', 5), rider('bo', 5), rider('cy', 5), rider('cy', 4)];
  const rejects = [reject('ada', 1), reject('bo', 2), reject('cy', 3)];
  expect(await outcomesOf(log, rejects)).toEqual(['riders/0@5', 'riders/0@6', later]);
  const compacted = await outcomesOf(log.slice(3), [reject('cy', 0)], { compacted: true });
  expect(compacted).toEqual([later]);
});

test('a bad record that the log does not hold is not published: it was deleted, or its place is beyond the end, of no partition, or another record’s', async () => {
  expect(await outcomesOf([], [reject('ada', 2), reject('ada', 4)], { low: 5 })).toEqual([later, gone]);
  const rejects = [reject('ada', 9), reject('ada', 0, 7), reject('cy', 0), reject('bo', 0, 0, 6)];
  expect(await outcomesOf([rider('bo', 5)], rejects)).toEqual(rejects.map(() => gone));
});

test('a record without a key is still bad, whatever stands behind it', async () => {
  const bad = 'it still breaks a rule: no key';
  expect(await outcomesOf([], [reject(null, 0), reject(null, 1)])).toEqual([bad, bad]);
});
