import { expect, test } from 'vitest';
import { measuredWriter } from '../../../projector/status/measured-writer.ts';
import { Waits } from '../../../projector/status/waits.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { lead } from '../../support/stores/lead.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

/** A writer of which tag 1 is refused, a second each; since when it is waited for, and why. */
async function full() {
  const state = { isFull: true, tookMs: 1_000 };
  const clock = new SteppingClock();
  const waits = new Waits({ clock, log: silentLog, logStatus: () => null });
  const shared = new SharedStore();
  const plain = shared.writer();
  await lead(plain);
  const refused =
    <A extends unknown[], R>(call: (tag: number, ...more: A) => Promise<R>) =>
    async (tag: number, ...more: A): Promise<R> => {
      clock.ms += state.tookMs;
      if (tag === 1 && state.isFull) throw new Error('OOM');
      return call(tag, ...more);
    };
  const { commit, leadership } = plain;
  const { take, free } = leadership!;
  const store = {
    ...plain,
    commit: refused(commit),
    leadership: {
      ...{ ...leadership!, take: refused(take), free: refused(free) },
      coming: (tags: readonly number[]) => refused(() => leadership!.coming(tags))(tags[0]!),
    },
  };
  const beganMs = clock.ms;
  const answers: [string, number][] = [];
  const metrics = { storeAnswered: (...answer: [string, number]) => void answers.push(answer) };
  const writer = measuredWriter(store, { waits, clock, metrics });
  const write = () => writer.commit(1, []).catch(() => {});
  const waited = () => ({
    ms: clock.ms - (waits.current().get('redis') ?? clock.ms),
    why: waits.causes('redis').map(({ message }) => message),
  });
  return { clock, beganMs, shared, writer, leadership: writer.leadership!, write, waited, answers, store: state };
}
const nothing = { ms: 0, why: [] };

test('a batch that is refused is waited for until it succeeds, whatever else does', async () => {
  const { clock, beganMs, writer, leadership, write, waited, store } = await full();
  await write();
  store.tookMs = 499;
  await writer.read([]);
  await leadership.look([1]);
  await leadership.coming([2]);
  for await (const _ of writer.list([1])) expect.unreachable();
  await writer.commit(2, []);
  await write();
  expect(waited()).toEqual({ ms: clock.ms - beganMs, why: ['OOM'] });
  store.isFull = false;
  await write();
  expect(waited()).toEqual(nothing);
});

test('a tag that is refused is waited for until it is taken, or takes a sign of life, whatever other tags do, also as it is given up', async () => {
  const { leadership, waited, store } = await full();
  store.tookMs = 0;
  const take = async (tag: number) => leadership.take(tag, (await leadership.look([tag]))[0]!.fence, false);
  for (const end of [() => take(1), () => leadership.coming([1, 2])]) {
    store.isFull = true;
    await take(1).catch(() => {});
    await take(2);
    expect(waited().why).toEqual(['OOM']);
    store.isFull = false;
    await end();
    expect(waited()).toEqual(nothing);
  }
  store.isFull = true;
  await leadership.free(1).catch(() => {});
  await leadership.free(2);
  expect(waited().why).toEqual(['OOM']);
});

test('a store that takes no sign of life is waited for, whatever is read there or finds another fence', async () => {
  const { shared, writer, leadership, waited, store } = await full();
  store.tookMs = 0;
  await leadership.coming([1]).catch(() => {});
  await writer.read([]);
  await leadership.look([1]);
  await leadership.isFree(1);
  await lead(shared.writer(), [2]);
  expect([await writer.commit(2, []), await leadership.take(2, 'another', false)]).toMatchObject([
    { committed: false },
    null,
  ]);
  expect(waited().why).toEqual(['OOM']);
  store.isFull = false;
  await leadership.coming([1]);
  expect(waited()).toEqual(nothing);
});

test('a store that always answers late is waited for from the first late answer until a prompt one', async () => {
  const { write, waited, answers, store } = await full();
  Object.assign(store, { isFull: false, tookMs: 500 });
  for (let i = 0; i < 50; i++) await write();
  expect(waited()).toEqual({ ms: 50 * 500, why: ['an answer took 0.5 s'] });
  store.tookMs = 499;
  await write();
  expect(waited()).toEqual(nothing);
  expect(answers.slice(-2)).toEqual([
    ['commit', 0.5],
    ['commit', 0.499],
  ]);
});
