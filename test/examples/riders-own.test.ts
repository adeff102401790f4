import { describe, expect, it } from 'vitest';
import { evening, gone, marks, metro, night, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { told } from './answerers.ts';

/**
 * One small example for each rule of a rider's own answers (docs/rules.md#a-riders-own), held up to the service. The reader is `me`.
 */

const day = '2015-06-13';
const base = [metro('pdx'), ride('loop1'), night('loop1', day), ...['me', 'r1', 'r2', 'r3'].map((id) => rider(id))];
const range = { rider: 'me', metro: 'pdx', from: day, to: day };
const handles = (riders: { handle: string }[]): string[] => riders.map(({ handle }) => handle);
const goingTo = (id: string, date: string, ...riders: string[]): LoggedRecord[] =>
  riders.map((who) => says(who, 'GOING', id, date));

const known = async (...log: LoggedRecord[]) =>
  (await told([...base, ...log], { operation: 'getKnown', ...range })).nights;
const friends = async (...log: LoggedRecord[]) => await told([...base, ...log], { operation: 'getFriends', ...range });
const flagged = async (...log: LoggedRecord[]) =>
  (await told([...base, ...log], { operation: 'getFlagged', ...range })).nights;

const after = '2015-06-20T00:00:00Z';
// docs/rules.md#why, #posted
it.each<[string | undefined, string, LoggedRecord[]]>([
  ['led', after, [ride('loop1', { leaders: ['r1', 'me'] }), says('me', 'CONFIRMED', 'loop1', day)]],
  ['ridden', after, [says('me', 'CONFIRMED', 'loop1', day)]],
  ['going', evening, [says('me', 'CONFIRMED', 'loop1', day, true)]],
  ['going', after, [says('me', 'GOING', 'loop1', day, true)]],
  ['saved', evening, [says('me', 'NONE', 'loop1', day, true)]],
  [undefined, evening, [says('me', 'NONE', 'loop1', day)]],
  [undefined, evening, [ride('loop1', { leaders: ['me'], posted: false })]],
])('why a night is mine: %s, at %s', async (why, now, log) => {
  const { nights } = await told([...base, ...log], { operation: 'getMyNights', rider: 'me' }, now);
  expect(nights[0]?.why).toBe(why);
});

// docs/rules.md#my-nights
describe('my nights', () => {
  const mine = async (now: string, ...log: LoggedRecord[]) =>
    await told([...base, ...log], { operation: 'getMyNights', rider: 'me' }, now);

  // In UTC it is a day later in Los Angeles, and a day earlier on Kiritimati.
  it.each([
    ['America/Los_Angeles', '2015-06-17T06:59:59.999Z', ['2015-05-17', day, '2015-09-14']],
    ['America/Los_Angeles', '2015-06-17T07:00:00Z', [day, '2015-09-14', '2015-09-15']],
    ['Pacific/Kiritimati', '2015-06-15T09:59:59.999Z', ['2015-05-16', '2015-05-17', day]],
    ['Pacific/Kiritimati', '2015-06-15T10:00:00Z', ['2015-05-17', day, '2015-09-14']],
  ])('are from 30 days back to 90 days ahead of today in %s, at %s', async (zone, now, days) => {
    const dates = ['2015-05-16', '2015-05-17', '2015-09-14', '2015-09-15'].map((date) => night('loop1', date));
    const log = [metro('pdx', { time_zone: zone }), ride('loop1', { leaders: ['me'] }), ...dates];
    const { nights } = await mine(now, ...log);
    expect(nights.map((found: { night: { day: string } }) => found.night.day)).toEqual(days);
  });

  it('have the riders I flagged on them, blocked or not, and on no other', async () => {
    const other = [ride('loop2'), night('loop2', day), ...goingTo('loop2', day, 'r1')];
    const log = [marks('me', 'r1', 'flagged'), marks('r1', 'me', 'blocked'), ...goingTo('loop1', day, 'r1', 'r2')];
    expect((await mine(evening, ...other, ...log, says('me', 'NONE', 'loop1', day, true))).flagged).toEqual([
      { ride: 'loop1', day, riders: [{ handle: 'h-r1', name: 'r1' }] },
    ]);
  });
});

// docs/rules.md#blocks
describe('a block', () => {
  const going = [...goingTo('loop1', day, 'r1')];
  it.each([
    ['mine', marks('me', 'r1', 'follows', 'flagged', 'blocked'), marks('r1', 'me')],
    ['theirs', marks('me', 'r1', 'follows', 'flagged'), marks('r1', 'me', 'blocked')],
  ])('%s hides a friend and not a flag', async (_whose, one, other) => {
    expect(await known(...going, one, other)).toEqual([]);
    expect(await friends(...going, one, other)).toEqual({ nights: [], flagged: [] });
    expect(await flagged(...going, one, other)).toHaveLength(1);
  });
});

// docs/rules.md#known
describe('known', () => {
  it('counts whom I follow among those going, with close ones named first', async () => {
    const log = [
      ...goingTo('loop1', day, 'r1', 'r3'),
      says('r2', 'CONFIRMED', 'loop1', day),
      marks('me', 'r1', 'follows'),
      marks('me', 'r2', 'follows', 'flagged'),
      marks('me', 'r3', 'follows', 'close'),
    ];
    const names = ['r3', 'r1'].map((id) => ({ handle: `h-${id}`, name: id, flagged: false }));
    expect(await known(...log)).toEqual([{ ride: 'loop1', day, known: 3, names }]);
  });

  // docs/rules.md#erased-riders
  it('leaves out whom I only marked close, whoever was erased, and nights without anybody', async () => {
    const going = goingTo('loop1', day, 'r1');
    expect(await known(...going, marks('me', 'r1', 'close'))).toEqual([]);
    expect(await known(...going, marks('me', 'r1', 'follows'), gone('riders', 'r1'))).toEqual([]);
  });
});

// docs/rules.md#order-of-riders, #empty-text
it('the order of riders is by folded name, or folded handle where there is none, then handle, then id', async () => {
  const log = [
    rider('r1', { name: 'Zoë', handle: 'a' }),
    rider('r2', { name: '', handle: 'zoe' }),
    rider('r3', { name: 'ÁNA', handle: 'x' }),
    rider('r4', { name: 'zoe', handle: 'a' }),
    rider('r5', { name: '🚲', handle: 'bike' }),
    rider('r6', { name: '～', handle: 'wave' }),
    // Nothing is left of this name when it is folded: it is a name nevertheless.
    rider('r7', { name: '\u2019', handle: 'zz' }),
  ];
  const ids = ['r7', 'r6', 'r5', 'r4', 'r3', 'r2', 'r1'];
  const all = [...log, ...goingTo('loop1', day, ...ids), ...ids.map((id) => marks('me', id, 'follows', 'flagged'))];
  const expected = ['zz', 'x', 'a', 'a', 'zoe', 'wave', 'bike'];
  expect(handles((await friends(...all)).nights[0].friends)).toEqual(expected);
  expect(handles((await flagged(...all))[0].riders)).toEqual(expected);
});

// docs/rules.md#my-nights, #known, #friends, #flagged, #order-of-nights, #past
it.each(['getMyNights', 'getKnown', 'getFriends', 'getFlagged'] as const)(
  '%s has nights in their order, past ones as past',
  async (operation) => {
    const late = [night('loop1', day, { meet_time: 72_000_000 }), ride('loop2')];
    const both = [...late, night('loop2', day, { meet_time: 68_400_000 })];
    const goes = ['loop1', 'loop2'].flatMap((id) => goingTo(id, day, 'me', 'r1'));
    const log = [...base, ...both, marks('me', 'r1', 'follows', 'flagged'), ...goes];
    const { nights } = await told(log, { operation, ...range }, after);
    const rideOf = (one: { ride: string; night?: { ride: string } }) => (one.night ?? one).ride;
    expect(nights.map(rideOf)).toEqual(['loop2', 'loop1']);
    for (const { night } of nights) expect(night?.past ?? true).toBe(true);
  },
);

// docs/rules.md#friends
describe('friends', () => {
  const close = [marks('me', 'r1', 'follows'), marks('me', 'r2', 'close'), marks('me', 'r3', 'flagged')];
  const loop2 = [ride('loop2'), night('loop2', day), ...goingTo('loop2', day, 'r1', 'r2', 'r3')];
  const twoNights = [...goingTo('loop1', day, 'r1', 'r3'), ...loop2];

  it('are those I follow or marked close, close ones first, in nights with a close one first', async () => {
    const also = [rider('r0'), marks('me', 'r0', 'follows'), ...goingTo('loop2', day, 'r0')];
    const found = await friends(...close, ...twoNights, ...also);
    expect(found.nights.map((one: { night: { ride: string } }) => one.night.ride)).toEqual(['loop2', 'loop1']);
    expect(found.nights[0].friends).toEqual([
      { handle: 'h-r2', name: 'r2', close: true, following: false, flagged: false },
      { handle: 'h-r0', name: 'r0', close: false, following: true, flagged: false },
      { handle: 'h-r1', name: 'r1', close: false, following: true, flagged: false },
    ]);
    // Those I flagged are in the order of nights.
    expect(found.flagged.map((one: { ride: string }) => one.ride)).toEqual(['loop1', 'loop2']);
    expect(handles(found.flagged[0].riders)).toEqual(['h-r3']);
  });

  // docs/rules.md#close-friends-only
  it('are asked for nights with a close one alone', async () => {
    const request = { operation: 'getFriends', ...range, closeFriendsOnly: 'true' } as const;
    const found = await told([...base, ...close, ...twoNights], request);
    expect(found.nights).toHaveLength(1);
    expect(handles(found.nights[0].friends)).toEqual(['h-r2', 'h-r1']);
    expect(found.flagged.map((one: { ride: string }) => one.ride)).toEqual(['loop2']);
  });
});

// docs/rules.md#range-of-dates, #flagged
it('from and to are both included, and only in the metro asked for', async () => {
  const dates = ['2015-06-11', '2015-06-12', '2015-06-13', '2015-06-14'];
  const log = [
    // All in one week, whose flags are read together.
    ...dates.flatMap((date) => [night('loop1', date), says('r1', 'GOING', 'loop1', date)]),
    ...[metro('sfo'), ride('else1', { metro: 'sfo' }), night('else1', day), says('r1', 'GOING', 'else1', day)],
    marks('me', 'r1', 'flagged'),
  ];
  const request = { operation: 'getFlagged', rider: 'me', metro: 'pdx', from: '2015-06-12', to: day } as const;
  const found: { ride: string; day: string }[] = (await told([...base, ...log], request)).nights;
  expect(found.map((one) => `${one.ride} ${one.day}`)).toEqual(['loop1 2015-06-12', 'loop1 2015-06-13']);
});
