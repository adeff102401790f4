import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { type Hidden, hidingRules, whyHidden } from '../../../services/operate/why-hidden.ts';
import { PastAnswers } from '../../../services/past/answers/past-answers.ts';
import { district, gone, liveKey, marks, metro, night, place, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { ran } from '../../support/processes/ran.ts';
import { applyTo } from '../../support/stores/rendered-views.ts';
import { TestArchive } from '../../support/worlds/archive.ts';

// docs/rules.md#posted, #absent-references, #going-count, #my-nights, #why, #going, #known, #friends, #flagged, #blocks, #where

const date = '2015-06-13';
const nowMs = Date.parse('2015-06-13T20:00:00Z');
const open = place({ place_name: 'Fountain', district: 'alameda' });
const secret = place({ place_name: 'Yard', district: 'alameda', secret: true, show_neighbourhood: true });
const world: LoggedRecord[] = [
  ...[metro('pdx'), district('alameda'), ride('loop'), night('loop', date, open), rider('ada'), rider('bo')],
  ...[says('ada', 'GOING', 'loop', date), says('bo', 'GOING', 'loop', date)],
  ...[marks('ada', 'bo', 'follows', 'flagged'), liveKey('text', 'k1')],
];

const page = '/rides/loop';
const day = `/metros/pdx/days/${date}`;
const [where, inRange] = [`${day}?where=alameda`, `?metro=pdx&from=${date}&to=${date}`];
const ofNight = { page: '/rides/loop', day: `day ${date} of its metro`, where: 'the same with ?where=' };
const theNight = `nights/loop/${date}`;
const [bo, ada] = [`attendance/loop/${date}/bo`, `attendance/loop/${date}/ada`];
const mine = '/me/nights of the rider';
const [known, friends] = [`/me/known${inRange}`, `/me/friends${inRange}`];

const unsaid = says('ada', 'NONE', 'loop', date);
const never = 'the day is over 30 days ago or over 90 days ahead';
/** What hides a key's record from a kind of answer; what is published after the world; a request that does not show it; who asks, when. */
type Case = [Hidden[], LoggedRecord[], key: string, answer: string, target: string, rider?: string, atMs?: number];
const cases: Case[] = [
  [['the ride is not posted'], [ride('loop', { posted: false })], 'rides/loop', page, page],
  [['its metro is unknown'], [ride('loop', { metro: 'zzz' })], theNight, ofNight.day, day],
  [['the metro has no record'], [gone('metros', 'pdx')], 'metros/pdx', '/metros/pdx/days/…', day],
  [['the ride has no record'], [gone('rides', 'loop')], theNight, ofNight.page, page],
  [['the night has no record'], [gone('nights', `loop/${date}`)], ada, mine, '/me/nights', 'ada'],
  [['a secret meeting'], [night('loop', date, secret)], theNight, ofNight.where, where],
  [['no neighbourhood with a slug'], [night('loop', date)], theNight, ofNight.where, where],
  [['the district has no record'], [night('loop', date, place({ district: 'x' }))], theNight, ofNight.where, where],
  [[never], [], ada, mine, '/me/nights', 'ada', nowMs + 31 * 86_400_000],
  [[never], [], ada, mine, '/me/nights', 'ada', nowMs - 91 * 86_400_000],
  [['the rider neither leads it, nor goes, nor saved it'], [unsaid], theNight, '/me/nights', '/me/nights', 'ada'],
  [['the rider has no record'], [gone('riders', 'ada')], ada, mine, '/me/nights', 'ada'],
  [['the rider has no record'], [gone('riders', 'bo')], bo, '/me/known', known, 'ada'],
  [['the rider does not go'], [says('bo', 'NONE', 'loop', date)], bo, '/me/friends', friends, 'ada'],
  [['nobody whom it would show goes'], [says('bo', 'NONE', 'loop', date, true)], theNight, '/me/known', known, 'ada'],
  [['not followed'], [marks('ada', 'bo', 'close')], bo, '/me/known', known, 'ada'],
  [['neither followed nor marked close'], [marks('ada', 'bo', 'flagged')], bo, '/me/friends', friends, 'ada'],
  [['not flagged'], [marks('ada', 'bo', 'follows')], 'relations/ada/bo', '/me/flagged', `/me/flagged${inRange}`, 'ada'],
  [['blocked'], [marks('ada', 'bo', 'follows', 'blocked')], bo, '/me/known', known, 'ada'],
  [['blocked'], [marks('bo', 'ada', 'blocked')], bo, '/me/friends', friends, 'ada'],
];

function folded(records: readonly LoggedRecord[]) {
  const fold = new Fold();
  for (const record of records) applyTo(fold, record);
  return fold.facts;
}

/** What hides a key's record from each kind of answer. */
function hiddenIn(records: readonly LoggedRecord[], asked: string, rider: string | null = null, atMs = nowMs) {
  const [topic, ...rest] = asked.split('/') as [TopicName, ...string[]];
  const answers = whyHidden(folded(records), topic, rest.join('/'), { rider, nowMs: atMs });
  return Object.fromEntries(answers.map(({ answer, hidden }) => [answer, hidden]));
}

it.each(cases)('%j hides %j: %s from %s', async (hidden, change, key, answer, target, rider, atMs = nowMs) => {
  const whatIs = async (records: readonly LoggedRecord[]) => {
    const as = target.startsWith('/me') ? 'ada' : null;
    const { status, body } = await new PastAnswers(folded(records)).ask({ target, rider: as }, atMs);
    const isThere = key.startsWith('metros/') || (body.includes(`"day":"${date}"`) && body.includes('"ride":"loop"'));
    return { shows: status === 200 && isThere, hidden: hiddenIn(records, key, rider, atMs)[answer] };
  };
  expect(await whatIs([...world, ...change])).toEqual({ shows: false, hidden });
  if (atMs === nowMs) expect(await whatIs(world)).toEqual({ shows: true, hidden: [] });
});

it('a going that does not count, a secret neighbourhood, a key that is gone and a rider without nights have their reasons', () => {
  const of = hiddenIn;
  expect(of([...world, gone('riders', 'bo')], bo)).toMatchObject({ going_count: ['the rider has no record'] });
  const withheld = night('loop', date, place({ district: 'alameda', secret: true }));
  expect(of([...world, withheld], 'districts/alameda')).toMatchObject({
    'neighbourhood of a night': ['a secret meeting without its neighbourhood'],
  });
  expect(of(world, 'developer-keys/k1')).toEqual({ 'public reads with the key': [] });
  expect(of(world, 'developer-keys/k2')).toEqual({ 'public reads with the key': ['no key has this id'] });
  expect(of([...world, rider('cy')], 'riders/cy')).toMatchObject({ going_count: ['the rider goes to no night'] });
  const names = Object.values(of([], 'districts/d'));
  expect(names).toEqual(names.map(() => expect.arrayContaining(['no night names the district'])));
});

it('of several nights, those count that have to do with what is asked, and reasons that others have alone', () => {
  const others = [ride('cafe', { posted: false }), ride('zoom', { metro: 'zzz' })];
  const later = ['2015-06-20', '2015-06-27'] as const;
  const nights = [night('cafe', date), night('zoom', date), ...later.map((day) => night('loop', day, secret))];
  const many = [...world, ...others, ...nights, says('bo', 'GOING', 'cafe', date), says('bo', 'GOING', 'zoom', date)];
  // Bo goes to a night that shows, and to two that do not: only the mark is missing.
  const none = { '/me/known': ['not followed'], '/me/friends': ['neither followed nor marked close'] };
  expect(hiddenIn([...many, marks('ada', 'bo')], 'relations/ada/bo')).toEqual({
    ...none,
    '/me/flagged': ['not flagged'],
  });
  // What Bo only saved is nothing that a mark would show.
  const flaggedOnly = [...many, marks('ada', 'bo', 'flagged')];
  const only = [...flaggedOnly, says('bo', 'NONE', 'loop', date, true), says('bo', 'NONE', 'zoom', date)];
  expect(hiddenIn(only, 'relations/ada/bo')['/me/flagged']).toEqual(['the ride is not posted']);
  // Each of two nights has a reason of its own.
  const two = [...many, says('bo', 'NONE', 'loop', date)];
  expect(hiddenIn(two, 'riders/bo').going_count).toEqual(['the ride is not posted', 'its metro is unknown']);
  // A ride's own nights: those that Ada goes to, and those to which somebody goes whom she marks.
  expect(hiddenIn(flaggedOnly, 'rides/loop', 'ada')).toMatchObject({ '/me/nights': [], '/me/flagged': [], ...none });
});

const doc = (name: string) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8');

it('every reason has a rule that there is', () => {
  for (const [anchor] of Object.values(hidingRules)) expect(doc('rules')).toContain(`(#${anchor})`);
});

it('the page on missing rides shows what why says', async () => {
  const page = doc('why-is-my-ride-missing');
  const [, line, said] = /^```sh\nnpx ride-calendar (.*?)\n```\n\n```text\n(.*?)^```/ms.exec(page)!;
  // A record that is hidden is exit code 1.
  expect(await ran(line!)).toEqual({ code: 1, out: said!.trimEnd().split('\n'), err: [] });
});

// docs/rules.md#one-partition-per-key, #tombstones, #last-good-record
it('why says where keys of an archive stand, with exit codes: a tombstone, what was rejected behind the last good record, in a topic or beside it, and a misplaced key', async () => {
  await using archive = await TestArchive.make(2);
  const put = (record: LoggedRecord, partition: number) =>
    archive.append(record.topic, partition, [
      { timestampMs: nowMs, key: record.key, value: record.value, headers: [] },
    ]);
  const own = (key: string) => murmur2Partition(Buffer.from(key), 2);
  const bad = ride('loop', { url: 'ftp://x' });
  for (const one of [metro('pdx'), ride('loop'), gone('rides', 'cafe'), bad, rider('ada')])
    await put(one, own(one.key));
  const raw = { key: Buffer.from('ada'), value: Buffer.from('x'), headers: {} };
  const [partition, offset] = [own('ada'), 9];
  archive.reject([{ topic: 'riders', partition, offset, timestampMs: nowMs, reason: 'trailing bytes', raw }]);
  await put(ride('misplaced'), 1 - own('misplaced'));
  const keys = ['rides/loop', 'rides/cafe', 'riders/ada', 'rides/misplaced'];
  const run = (...args: string[]) => ran(['why', ...args, '--archive', archive.dir], { LOG_LEVEL: 'error' });
  const { code, out } = await run(...keys, '--json');
  const [loop, cafe, ada, misplaced] = out.map((line) => JSON.parse(line));
  expect(code).toBe(1);
  const place = `rides/${own('loop')}@${loop.record.place.endsWith('0') ? 1 : 2}`;
  const rejected = [{ place, reason: expect.stringContaining('url') }];
  expect(loop).toMatchObject({ record: { tombstone: false }, rejected, misplaced: false });
  expect(cafe).toMatchObject({ record: { tombstone: true }, rejected: [], answers: [{ shown: false }, {}] });
  expect(ada).toMatchObject({ rejected: [{ place: `riders/${own('ada')}@9`, reason: 'trailing bytes' }] });
  expect([misplaced.misplaced, misplaced.answers[0].shown]).toEqual([true, true]);
  expect((await run('rides/misplaced')).code).toBe(0);
  const none = await run('nights/none/2015-06-13', '--rider', 'ada');
  expect([none.code, none.out.join('\n')]).toEqual([1, expect.stringContaining('last good record: none in the log')]);
  expect(none.out.join('\n')).toContain('the ride has no record (docs/rules.md#posted)');
});
