import { describe, expect, it } from 'vitest';
import { busyLimits } from './check-answers.ts';
import { checkHistory } from './checker.ts';
import { goodHistory } from './good-history.ts';
import { type EventOf, type Finding, type HistoryEvent, historyLine, type Rule, readHistory } from './history.ts';

const findingsOf = async (events: readonly HistoryEvent[]): Promise<Finding[]> =>
  checkHistory(await readHistory(events.map((each) => historyLine(each))));

type Type = HistoryEvent['type'];
type Edit = (events: readonly HistoryEvent[]) => readonly HistoryEvent[];

/** Changes the events of a type that are meant, of which there must be one. The end counts the lines that there are then. */
function change<T extends Type>(
  type: T,
  isMeant: (event: EventOf<T>) => boolean,
  to: (event: EventOf<T>) => object[],
): Edit {
  return (events) => {
    const meant = new Set(events.filter((each) => each.type === type && isMeant(each as EventOf<T>)));
    if (meant.size === 0) throw new Error(`Cannot break the history: no ${type} is meant`);
    const edited = events.flatMap((each) => (meant.has(each) ? (to(each as EventOf<T>) as HistoryEvent[]) : [each]));
    return edited.map((each) => (each.type === 'end' ? { ...each, lines: edited.length - 1 } : each));
  };
}
const patch = <T extends Type>(type: T, more: Partial<EventOf<T>>, isMeant: (event: EventOf<T>) => boolean) =>
  change(type, isMeant, (each) => [{ ...each, ...more }]);
const without = <T extends Type>(type: T, isMeant: (event: EventOf<T>) => boolean) => change(type, isMeant, () => []);
const all =
  (...edits: Edit[]): Edit =>
  (events) =>
    edits.reduce((edited, edit) => edit(edited), events);

/** A reader's answers that began in these seconds. */
const asked =
  (reader: string, from: number, to = from + 1) =>
  (each: EventOf<'answer'>): boolean =>
    each.reader === reader && each.start >= from * 1_000 && each.start < to * 1_000;
const day = (api: 1 | 2, from: number, to?: number) => asked(`day at api-${api}`, from, to);
const shows = (shown: EventOf<'answer'>['shows'], isMeant: (each: EventOf<'answer'>) => boolean) =>
  patch('answer', { shows: shown, etag: null, hash: null }, isMeant);
const answers = (status: number, shown: EventOf<'answer'>['shows'], isMeant: (each: EventOf<'answer'>) => boolean) =>
  patch('answer', { status, shows: shown, etag: null, hash: null }, isMeant);
const ends = (more: Partial<EventOf<'process'>>) => patch('process', more, ({ state }) => state === 'ended');
const rejects = (to: (each: EventOf<'reject'>) => object[]) => change('reject', ({ offset }) => offset === 1_000, to);
/** A change is readable 20 s after the fault. */
const lateBy20 = all(shows({ ride: 73 }, day(1, 75, 95)), shows({ ride: 73 }, day(2, 75, 95)));
const staleApi2 = (start: number) =>
  all(shows({ ride: 20 }, day(2, 21)), patch('answer', { start, at: start + 3 }, day(2, 21)));

const broken: [name: string, rule: Rule, says: RegExp, edit: Edit][] = [
  ['an answer goes back at one process', 'back', /told 20 before/, shows({ ride: 19 }, day(1, 21))],
  ['another process is stale', 'older', /without a fault/, staleApi2(21_900)],
  ['another process is stale for 3 s in a fault', 'older', /told 2997 ms/, shows({ ride: 145 }, day(2, 146, 150))],
  ['a 404 that says of nothing that it is absent', 'absent', /is there/, answers(404, { ride: 29 }, day(1, 30))],
  ['an empty day', 'absent', /200 shows ride as false/, shows({ ride: false }, day(1, 150))],
  ['a change is readable late after a fault', 'late', /had to be readable/, lateBy20],
  [
    'a deleted key is accepted',
    'late',
    /shows key as true/,
    answers(200, { key: true }, ({ status }) => status === 401),
  ],
  [
    'a record that the log lost is shown for ever',
    'late',
    /the log lost it/,
    all(
      without('publish', ({ version }) => version?.probe === 'ride' && version.n > 180),
      shows({ ride: 180 }, ({ path, start }) => path.includes('day') && start > 181_000),
    ),
  ],
  ['a version from the future', 'never published', /30: no record/, shows({ ride: 30 }, day(1, 25))],
  ['one ETag for two bodies', 'bytes', /ETag of another body/, patch('answer', { hash: 'another' }, day(2, 21))],
  [
    'a final answer differs in a byte',
    'bytes',
    /differs from a fresh replay/,
    patch('final', { answered: { status: 200, body: '{"path": ""}' } }, ({ process }) => process === 'api-1'),
  ],
  ['a missing reject', 'rejects', /@1000 is bad and was not set aside/, rejects(() => [])],
  ['an end that nobody asked for', 'ended', /unasked, with code 0/, ends({ asked: null, code: 0 })],
  ['a 503 without a fault', 'unanswered', /503 without a fault/, answers(503, {}, day(1, 20))],
  ['a 500 in a fault', 'unanswered', /500 is no answer/, answers(500, {}, day(1, 60))],
  ['a history with lines cut out', 'history', /is cut:/, (events) => events.toSpliced(500, 20)],
  ['a reader that falls silent', 'history', /reader day at api-1 is silent/, without('answer', day(1, 20, 32))],
  ['a probe that nobody reads', 'history', /nobody read key/, shows({ ride: 1 }, ({ shows }) => 'key' in shows)],
];

/** Nothing, or nothing of a rule, is found in these. */
const allowed: [name: string, edit: Edit, rule?: Rule][] = [
  ['another process is 40 ms older', staleApi2(21_740)],
  [
    'a change is readable 15 s after a fault',
    all(shows({ ride: 73 }, day(1, 75, 78)), shows({ ride: 73 }, day(2, 75, 78))),
  ],
  [
    'a leader that stopped as it sent a bad record sends it when it wakes',
    all(
      rejects((each) => [each, each]),
      patch(
        'fault',
        { name: 'leader paused and deposed', at: 51_000 },
        ({ at, state }) => state === 'begin' && at < 80_000,
      ),
    ),
    'rejects',
  ],
];

describe('the checker of histories', () => {
  it('finds nothing in good histories', async () => {
    expect(await findingsOf(goodHistory())).toEqual([]);
  });

  it.each(broken)('finds %s', async (_, rule, says, edit) => {
    const findings = await findingsOf(edit(goodHistory()));
    const found = findings.filter((each) => each.rule === rule && says.test(each.says));
    expect(found, JSON.stringify(findings.slice(0, 5))).not.toEqual([]);
  });

  it.each(allowed)('allows that %s', async (_, edit, rule) => {
    const findings = await findingsOf(edit(goodHistory()));
    expect(findings.filter((each) => rule === undefined || each.rule === rule)).toEqual([]);
  });

  it('allows on a busy machine what is a finding on a quiet one', async () => {
    const lines = await readHistory(staleApi2(21_900)(goodHistory()).map((each) => historyLine(each)));
    expect(checkHistory(lines, busyLimits)).toEqual([]);
  });

  it('refuses a line that is no event, and names it', async () => {
    await expect(readHistory(['{"type":"begin"'])).rejects.toThrow('Cannot read line 1 of the history');
  });
});
