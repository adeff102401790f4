import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { dayOf, dayText } from '../../reference/dates.ts';
import { district, marks, metro, night, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { answering, projecting } from '../../support/processes/service.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';

async function asking(records: readonly LoggedRecord[], nowMs: number) {
  const store = new MemoryViewStore();
  const projector = await projecting(store.writer());
  for (const [offset, { topic, key, value }] of records.entries()) {
    const record = { topic, partition: 0, offset, timestampMs: 0, key, value };
    await projector.take({ topic, partition: 0, records: [toLogRecord(record)], nextOffset: offset + 1 });
  }
  await projector.settle();
  await projector.complete();
  const api = answering(store.reader(), () => nowMs);
  return async (path: string) => JSON.parse((await api.get(path, { authorization: 'Bearer ada' })).body);
}

// docs/rules.md#my-nights: the date in UTC is a day ahead of one zone, and a day behind the other; own nights are kept by week.
it.each([
  ['America/Los_Angeles', '2015-06-17T02:00:00Z'],
  ['Pacific/Kiritimati', '2015-06-15T11:00:00Z'],
])('/me/nights are from 30 days ago to 90 days ahead in %s', async (zone, now) => {
  const today = dayOf('2015-06-16')!;
  const days = [-31, -30, 0, 90, 91].map((away) => dayText(today + away));
  const leads = [metro('pdx', { time_zone: zone }), rider('ada'), ride('loop', { leaders: ['ada'] })];
  const ask = await asking([...leads, ...days.map((day) => night('loop', day))], Date.parse(now));
  const { nights } = await ask('/me/nights');
  expect(nights.map((mine: { night: { day: string } }) => mine.night.day)).toEqual(days.slice(1, 4));
});

const friends = ['ben', 'cas', 'dot', 'eli', 'fay'];
const records = [
  metro('pdx'),
  district('alameda'),
  ...['ada', ...friends].map((id) => rider(id)),
  ride('loop'),
  ...['2015-06-14', '2015-06-15', '2015-06-17', '2015-06-18'].map((day) => night('loop', day)),
  ...friends.flatMap((id) =>
    ['2015-06-14', '2015-06-15', '2015-06-17', '2015-06-18'].map((day) => says(id, 'GOING', 'loop', day)),
  ),
];
const now = Date.parse('2015-06-13T20:00:00Z');

// docs/rules.md#known
it.each([
  [3, ['h-ben', 'h-cas']],
  [1, ['h-fay', 'h-ben']],
])('of five who are followed, %i of them close, two are named, close ones first', async (close, names) => {
  const isClose = (i: number) => (close === 1 ? i === 4 : i < close);
  const relations = friends.map((id, i) => marks('ada', id, 'follows', ...(isClose(i) ? ['close' as const] : [])));
  const ask = await asking([...records, ...relations], now);
  const { nights } = await ask('/me/known?metro=pdx&from=2015-06-15&to=2015-06-15');
  expect(nights).toMatchObject([{ day: '2015-06-15', known: 5, names: names.map((handle) => ({ handle })) }]);
});

// docs/rules.md#flagged
it('flagged riders are of the days that are asked for, both included, and of no other day of their weeks', async () => {
  const ask = await asking([...records, marks('ada', 'ben', 'flagged')], now);
  const { nights } = await ask('/me/flagged?metro=pdx&from=2015-06-15&to=2015-06-17');
  expect(nights.map(({ day }: { day: string }) => day)).toEqual(['2015-06-15', '2015-06-17']);
});
