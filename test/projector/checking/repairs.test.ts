import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// docs/rules.md#complete
describe('tags in doubt', () => {
  const { facts } = foldOf(smallWorld.records);
  const [some, more] = ['loop', 'ada'].map(tagOf) as [number, number];
  const viewsIn = (...tags: number[]) => viewsOf(facts).filter(({ id }) => tags.includes(tagOf(id)));
  const fieldsIn = (...tags: number[]): number =>
    viewsIn(...tags).reduce((sum, write) => sum + (write.kind === 'reader' ? write.fields.length : 1), 0);

  /** Repairs over an empty store, and all that they do. `onList`: happens when the views are listed. */
  function repairing(onList: () => void = () => {}) {
    const done: unknown[][] = [];
    const stop = new AbortController();
    const say =
      (what: string) =>
      (...of: unknown[]) =>
        void done.push([what, ...of]);
    const lanes = {
      lane: (tag: number) => ({
        beginCompare: (asked: boolean) => void done.push(['begin', tag, asked]),
        endCompare: () => void done.push(['end', tag]),
      }),
      processes: [] as number[],
      processesSeen: async () => lanes.processes.shift() ?? 1,
      add: async (tag: number, write: { id: string }, options: unknown) =>
        void done.push(['add', tag, write.id, options]),
      beat: say('beat'),
    };
    const writer = {
      list(tags: readonly number[], whole: boolean) {
        done.push(['list', tags, whole]);
        onList();
        return new MemoryViewStore().writer().list(tags, whole);
      },
    };
    const metrics = { ...noMetrics, compared: say('compared'), reconciled: say('reconciled') };
    const status = { repairing: say('repairing') };
    const log = { ...silentLog, info: say('info') };
    const shared = { writer, lanes, metrics, status, log } as unknown as ConstructorParameters<typeof Repairs>[0];
    const repairs = new Repairs({ ...shared, facts, clock: fastClock, signal: stop.signal });
    const taken = () => done.splice(0).filter(([what]) => what !== 'compared');
    return { repairs, lanes, stop, taken };
  }
  const adds = (...tags: number[]) => viewsIn(...tags).map(({ id }) => ['add', tagOf(id), id, { patience: true }]);

  it('are compared together, mended, and in doubt no more; all bytes of them where an open list asks for it', async () => {
    const { repairs, stop, taken } = repairing();
    await repairs.done();
    repairs.compare(some, false);
    repairs.compare(some, false);
    expect(taken()).toEqual([
      ['repairing', 1],
      ['begin', some, false],
      ['begin', some, false],
    ]);
    expect(repairs.wanted).toEqual(new Set([some]));
    const running = repairs.run(stop.signal);
    await repairs.done();
    expect(repairs.wanted.size).toBe(0);
    expect(taken()).toEqual([
      ['list', [some], false],
      ...adds(some),
      ...[['repairing', -1], ['end', some], ['beat'], ['reconciled', fieldsIn(some)]],
      ['info', `Wrote ${fieldsIn(some)} view into an empty store; 0 tags left`],
    ]);
    // It waits for the next ones.
    repairs.compare(some, false);
    repairs.compare(more, true);
    await repairs.done();
    expect(taken().find(([what]) => what === 'list')).toEqual(['list', [some, more], true]);
    repairs.compare(more, false);
    await repairs.done();
    expect(taken().find(([what]) => what === 'list')).toEqual(['list', [more], false]);
    stop.abort();
    await running;
  });

  it('that come while others are compared are compared after them', async () => {
    let listed = 0;
    const { repairs, stop, taken } = repairing(() => {
      if (listed++ === 0) repairs.compare(more, true);
    });
    repairs.compare(some, false);
    const running = repairs.run(stop.signal);
    await repairs.done();
    const lists = taken().filter(([what]) => what === 'list' || what === 'info');
    expect(lists).toEqual([
      ['list', [some], false],
      ['info', expect.stringContaining('1 tag left')],
      ['list', [more], true],
      ['info', expect.stringContaining('0 tags left')],
    ]);
    stop.abort();
    await running;
  });

  it('stay in doubt where another process of the store answered since, or where it is told to stop', async () => {
    const { repairs, lanes, stop, taken } = repairing();
    lanes.processes.push(1, 2);
    repairs.compare(some, false);
    const running = repairs.run(stop.signal);
    await repairs.done();
    expect(taken().filter(([what]) => what === 'list' || what === 'end')).toEqual([
      ['list', [some], false],
      ['list', [some], false],
      ['end', some],
    ]);
    stop.abort();
    await running;
    const stopped = repairing(() => stopped.stop.abort());
    stopped.repairs.compare(some, false);
    await stopped.repairs.run(stopped.stop.signal).catch(() => {});
    expect(stopped.repairs.wanted).toEqual(new Set([some]));
  });
});
