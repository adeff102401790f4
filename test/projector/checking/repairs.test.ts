import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { CommitResult, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// docs/rules.md#complete
it('tags in doubt are compared, mended, and in doubt no more: by their digests, or all bytes where an open list asks for it', async () => {
  const { facts } = foldOf(smallWorld.records);
  const store = new MemoryViewStore();
  let [process, lists] = ['one', 0];
  const memory = store.writer();
  const writer: ViewWriter = {
    ...memory,
    commit: async (...batch) => ({ ...(await memory.commit(...batch)), process }) as CommitResult,
    list(...of) {
      lists++;
      // A second compare is made anew by another process of the store, and a last one ends when it is told to.
      if (lists === 2) process = 'another';
      if (lists === 5) stop.abort();
      return memory.list(...of);
    },
  };
  const [counts, compared]: [number[], number[]] = [[], []];
  const { lines, stop, ...shared } = sharedDeps();
  const pushTo = (list: number[]) => (views: number) => void list.push(views);
  const metrics = { ...noMetrics, reconciled: pushTo(counts), compared: pushTo(compared) };
  const doubts: number[] = [];
  const inDoubt = () => doubts.reduce((sum, by) => sum + by, 0);
  const deps = { ...shared, metrics, writer };
  const lanes = new TagLanes({ ...deps, tags: allTags, onWritten() {}, onCompare() {} });
  const repairs = new Repairs({ ...deps, facts, lanes, status: { repairing: pushTo(doubts) } });
  lanes.beginStamping(0);
  const running = repairs.run(stop.signal);
  const repair = async (tags: readonly number[], asked: boolean) => {
    for (const tag of [...tags, tags[0]!]) repairs.compare(tag, asked && tag === tags[0]);
    expect([repairs.wanted.size, inDoubt(), lanes.lane(tags[0]!).comparing]).toEqual([tags.length, tags.length, true]);
    await repairs.done();
    await lanes.written(tags);
    expect([repairs.wanted.size, inDoubt(), lanes.lane(tags[0]!).comparing]).toEqual([0, 0, false]);
    return dumpViews(store);
  };
  const right = await repair(allTags, true);
  await expect.poll(() => lanes.isComplete).toBe(true);
  expect([counts[0], compared[0]]).toEqual([right.size, viewsOf(facts).length]);
  repairs.cause = 'Redis was emptied';
  const loop = viewsOf(facts).find(({ kind, id }) => kind === 'ride' && id === 'loop') as { value: Buffer };
  const value = Buffer.from(loop.value);
  // Its digest is right.
  value[value.length - 1]! ^= 1;
  const tag = tagOf('loop');
  await writer.commit(tag, [{ kind: 'ride', id: 'loop', value }]);
  expect(await repair([allTags[0]!, tag], false)).not.toEqual(right);
  expect(await repair([allTags[0]!, tag], true)).toEqual(right);
  expect(counts).toEqual([right.size, 0, 1]);
  const found = (views: string) =>
    `Compared 2 parts of the store with the log: ${views} missing or different, and rewritten; 0 parts left`;
  expect(lines).toEqual([
    `Wrote ${right.size} views into an empty store; 0 parts left`,
    found('0 views'),
    `${found('1 view')}. The cause: Redis was emptied`,
  ]);
  repairs.compare(tag, false);
  await running;
  expect([repairs.wanted.size, inDoubt(), lists]).toEqual([1, 1, 5]);
});
