import { expect, it } from 'vitest';
import type { Facts } from '../../../projector/facts/facts.ts';
import { assertRoom, fillBytes } from '../../../projector/leading/room-for-views.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { turnsDuring } from '../../support/stores/event-loop-turns.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const factsOf = (records: readonly LoggedRecord[]): Facts => foldOf(records).facts;
const { clock, log, signal } = sharedDeps();

/** 110 bytes for each key beside its id and value; 6 for a field of a small hash, 64 for one of a large. */
function measured(facts: Facts, tag: number, fieldBytes = 6): number {
  let bytes = 0;
  for (const write of viewsOf(facts)) {
    if (tagOf(write.id) !== tag) continue;
    bytes += 110 + write.id.length;
    if (write.kind !== 'reader') bytes += write.value!.length;
    else for (const { field, value } of write.fields) bytes += fieldBytes + field.length + Buffer.byteLength(value!);
  }
  return bytes;
}

// docs/rules.md#fill
it('what the views of some tags take is measured by all of them, where there are few', async () => {
  const facts = factsOf(smallWorld.records);
  const each = await Promise.all(allTags.map((tag) => fillBytes(facts, new Set([tag]), clock)));
  expect(each).toEqual(allTags.map((tag) => measured(facts, tag)));
  expect(await fillBytes(facts, new Set(allTags), clock)).toBe(each.reduce((a, b) => a + b));
});

it('a field takes more in a hash of more than 512 fields, or with one of more than 64 bytes', async () => {
  const weeks = (count: number): LoggedRecord[] => {
    const dates = Array.from({ length: count }, (_, i) => new Date(7 * 86_400_000 * i).toISOString().slice(0, 10));
    return [rider('ada'), ...dates.map((date) => says('ada', 'GOING', 'loop', date))];
  };
  // Two nights of a week are `5aaa=1,5bbb=1`.
  const two = (a: number, b: number): LoggedRecord[] => [
    rider('ada'),
    ...['a'.repeat(a), 'b'.repeat(b)].map((ride) => says('ada', 'GOING', ride, '2015-06-13')),
  ];
  const filled = async (records: readonly LoggedRecord[], fieldBytes: number) => {
    const facts = factsOf(records);
    expect(await fillBytes(facts, new Set([tagOf('ada')]), clock)).toBe(measured(facts, tagOf('ada'), fieldBytes));
  };
  await filled(weeks(512), 6);
  await filled(weeks(513), 64);
  await filled(two(28, 29), 6);
  await filled([...two(29, 29), says('ada', 'GOING', 'loop', '2015-06-20')], 64);
});

it('of many views one in so many is measured, and the event loop has its turn', async () => {
  const riders = (count: number) => factsOf(Array.from({ length: count }, (_, i) => rider(`r${1_000_000 + i}`)));
  const all = new Set(allTags);
  const each = (await fillBytes(riders(1), all, clock)) as number;
  expect(await fillBytes(riders(1_999), all, clock)).toBe(1_999 * each);
  // Their names are of one length: a sample of all is all.
  expect(await fillBytes(riders(2_000), all, clock)).toBe(2_000 * each);
  expect(await fillBytes(riders(2_999), all, clock)).toBe(3_000 * each);
  expect(await turnsDuring(() => fillBytes(riders(20), all, clock))).toBe(0);
  const slow = new SteppingClock();
  slow.nowMs = () => (slow.ms += 11);
  expect(await turnsDuring(() => fillBytes(riders(20), all, slow))).toBeGreaterThanOrEqual(20);
});

it('room is asked for where a tag was never written, and just enough is enough', async () => {
  const facts = factsOf(smallWorld.records);
  const needed = await fillBytes(facts, new Set([tagOf('loop')]), clock);
  const taken = (ofLoop: string | null) =>
    new Map(allTags.map((tag) => [tag, { position: tag === tagOf('loop') ? ofLoop : '', open: [], compare: false }]));
  const ask = (room: number | null, position: string | null = null) => {
    const leadership = { room: async () => room } as never;
    return assertRoom(taken(position), facts, { leadership }, { clock, log, signal });
  };
  await ask(needed);
  await ask(null);
  await ask(-5, '');
  await expect(ask(needed - 1)).rejects.toThrow(
    /they take about 1 MB, and the view store has room for 1 MB\. .*maxmemory.*generations drop/,
  );
  await expect(ask(-5)).rejects.toThrow('room for 0 MB');
  await expect(ask(needed - 1)).rejects.toMatchObject({ name: 'NoRoomError', retry: false });
});
