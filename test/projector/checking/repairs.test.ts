import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// docs/rules.md#complete
it('tags in doubt are compared, mended, and in doubt no more: by their digests, or all bytes where an open list asks for it', async () => {
  const { facts } = foldOf(smallWorld.records);
  const store = new MemoryViewStore();
  const writer = store.writer();
  const counts: number[] = [];
  const { lines, stop, ...shared } = sharedDeps();
  const metrics = { ...noMetrics, reconciled: (views: number) => void counts.push(views) };
  const deps = { ...shared, clock: fastClock, metrics, writer };
  const lanes = new TagLanes({ ...deps, tags: allTags, onWritten() {}, onCompare() {} });
  const repairs = new Repairs({ ...deps, facts, lanes });
  const running = repairs.run(stop.signal);
  const repair = async (tags: readonly number[], asked: boolean) => {
    for (const tag of tags) repairs.compare(tag, asked);
    expect([repairs.wanted.size, lanes.lane(tags[0]!).comparing]).toEqual([tags.length, true]);
    await repairs.done();
    await lanes.written(tags);
    expect([repairs.wanted.size, lanes.lane(tags[0]!).comparing]).toEqual([0, false]);
    return dumpViews(store);
  };
  const right = await repair(allTags, false);
  expect(right.size).toBe(counts[0]);
  const loop = viewsOf(facts).find(({ kind, id }) => kind === 'ride' && id === 'loop') as { value: Buffer };
  const value = Buffer.from(loop.value);
  // Its digest is right.
  value[value.length - 1]! ^= 1;
  const tag = tagOf('loop');
  await writer.commit(tag, [{ kind: 'ride', id: 'loop', value }]);
  expect(await repair([tag], false)).not.toEqual(right);
  expect(await repair([tag], true)).toEqual(right);
  expect(counts).toEqual([right.size, 0, 1]);
  expect(lines[0]).toBe(`Wrote ${right.size} views into an empty store; 0 parts left`);
  expect(lines.at(-1)).toBe(
    'Compared 1 part of the store with the log: 1 view missing or different, and rewritten; 0 parts left',
  );
  stop.abort();
  await running;
});
