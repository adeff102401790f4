import { describe, expect, it, vi } from 'vitest';
import { Life } from '../../../projector/leading/life.ts';
import { type TakenTags, takeAll } from '../../../projector/leading/standby.ts';
import { Terms } from '../../../projector/leading/terms.ts';
import { type EventLog, FoldAgainError, type Position } from '../../../projector/ports/event-log.ts';
import type { TakenTag } from '../../../projector/ports/view-writer.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

const tags = [3, 4, 5];
const bounds = byTopic((topic) => [{ low: 0, end: topic === 'rides' ? 9 : 0 }]);
const left: TakenTag = { position: null, open: [], compare: false };

/** Tags that are free or led, and what is done with them. `refuses`: what taking a tag comes to. */
function scene(refuses: (tag: number, time: number) => Error | null | undefined = () => undefined) {
  const done: unknown[][] = [];
  let times = 0;
  const leadership = {
    look: async (some: readonly number[]) => some.map((tag) => ({ fence: `${tag}:free`, position: null })),
    isFree: async () => false,
    async take(tag: number, seen: string, doubtful: boolean) {
      done.push(['take', tag, seen, doubtful]);
      const refusal = refuses(tag, tag === tags[0] ? ++times : times);
      if (refusal) throw refusal;
      return refusal === null ? null : left;
    },
    free: async (tag: number) => void done.push(['free', tag]),
    isAsLeft: (tag: number, fence: string) => tag !== 4 && fence === `${tag}:free`,
  };
  return { done, leadership };
}
const seen = tags.map((tag) => `${tag}:free`);
const taking = tags.map((tag) => ['take', tag, `${tag}:free`, false]);

// docs/rules.md#fence
it('the tags are taken all, each from the fence that was seen, or none: what was taken is free again', async () => {
  const taken = async (refuses?: Parameters<typeof scene>[0], isDoubtful?: (tag: number) => boolean) => {
    const { done, leadership } = scene(refuses);
    return [await takeAll(leadership, tags, seen, isDoubtful).catch(String), done];
  };
  const all = new Map(tags.map((tag) => [tag, left]));
  expect(await taken()).toEqual([all, taking]);
  const isDoubtful = (tag: number) => tag === 5;
  expect(await taken(undefined, isDoubtful)).toEqual([
    all,
    taking.map(([...take]) => [...take.slice(0, 3), take[1] === 5]),
  ]);
  // Where the first is another's by now, no other is asked for.
  expect(await taken((tag) => (tag === 3 ? null : undefined))).toEqual([null, taking.slice(0, 1)]);
  expect(await taken((tag) => (tag === 4 ? null : undefined))).toEqual([null, [...taking, ['free', 3], ['free', 5]]]);
  const away = taken((tag) => (tag === 5 ? new Error('no connection') : undefined));
  expect(await away).toEqual(['Error: no connection', [...taking, ['free', 3], ['free', 4]]]);
});

describe('a projector', () => {
  /** Stands by and leads, its terms ending so, until it is told to stop after the last of them. */
  async function led(
    ends: ('fenced' | 'lost' | 'free' | 'ended')[],
    refuses?: Parameters<typeof scene>[0],
    eventLog: Pick<EventLog, 'judgesAnew'> = {},
  ) {
    const { done, leadership } = scene(refuses);
    const stop = new AbortController();
    const clock = new SteppingClock();
    const said: string[] = [];
    const say = (message: string) => void said.push(message);
    const terms: TakenTags[] = [];
    const life = new Life('stand by', (role) => void done.push([role]));
    const lead = async (taken: TakenTags) => {
      life.to('fold');
      terms.push(taken);
      if (terms.length === ends.length) stop.abort();
      const end = ends[terms.length - 1]!;
      life.to(end);
      return end;
    };
    const status = {
      judged: (could: boolean) => expect(could).toBe(true),
      followed: (fold: string) => expect(fold).toBe('no views'),
    };
    const intake = { aside: { end: () => void done.push(['reject no more']) } };
    const folding = { limit: null, isBehind: () => false, intake };
    const deps = {
      leadership,
      tags,
      life,
      lead,
      clock,
      folding,
      status,
      signal: stop.signal,
      identity: null,
      eventLog: { bounds: async () => bounds, ...eventLog },
      bounds,
      signs: { takeRefusal: () => null },
      log: { info: say, warn: say, error: say },
    };
    await new Terms(deps).run();
    return { done, said, clock };
  }
  const tookAgain = taking.map(([what, tag, fence]) => [what, tag, fence, tag === 4]);

  const term = [...taking, ['leader']];
  const standsBy = [['reject no more'], ['standby']];

  it('takes its tags again where the store lost something, doubting those that are not as they were left', async () => {
    const { done, said } = await led(['lost', 'free']);
    expect(done).toEqual([...term, ...tookAgain, ['leader']]);
    expect(said).toEqual([expect.stringContaining('The view store lost')]);
    // Another one was quicker to take them.
    const late = await led(['lost', 'free'], (_, time) => (time === 2 ? null : undefined));
    expect(late.done).toEqual([...term, ...tookAgain.slice(0, 1), ...standsBy, ...term]);
  });

  // docs/rules.md#kept-schemas
  it('takes no tag with an old judgement: where a schema that it judged unknown is known now, it folds anew', async () => {
    const taken: number[] = [];
    const takes = (tag: number) => void taken.push(tag);
    await expect(led(['free'], takes, { judgesAnew: async () => true })).rejects.toThrow(FoldAgainError);
    expect(taken).toEqual([]);
    const judgesAnew = vi.fn(async () => false).mockRejectedValueOnce(new Error('away'));
    expect((await led(['free'], undefined, { judgesAnew })).said).toEqual([expect.stringContaining('away')]);
  });
});

describe('a standby folds', () => {
  const at = (rides: number) => positionAt({ rides });
  const stored = (rides: number, log = 'the log', position = at(rides)) =>
    JSON.stringify({ log, position, sum: '', fanOuts: [] });

  /** Looks, each with the positions of the tags, and how far the log is folded by then. Says what it made of each, and when it took the tags. */
  async function stoodBy(fence: (look: number) => string, looks: { positions: (string | null)[]; rides?: number }[]) {
    const stop = new AbortController();
    const over = Object.assign(new Error('no more looks'), { retry: false });
    let [look, rides, took] = [-1, 0, -1];
    const followed: (string | number | undefined)[][] = [];
    const folding = {
      limit: null as Position | null,
      isBehind: (position: Position) => rides < position.rides[0]!,
      intake: { aside: { end() {} } },
    };
    const leadership = {
      isFree: async () => false,
      async look() {
        look += 1;
        if (look === looks.length) throw over;
        const { positions, rides: folded = rides } = looks[look]!;
        rides = folded;
        return positions.map((position) => ({ fence: fence(look), position }));
      },
      free: async () => {},
      isAsLeft: () => true,
      async take() {
        took = look;
        stop.abort();
        return null;
      },
    };
    const deps = {
      leadership,
      tags,
      folding,
      bounds,
      signal: stop.signal,
      identity: 'the log',
      clock: new SteppingClock(),
      eventLog: { bounds: async () => bounds },
      status: { followed: (fold: string) => followed.push([fold, folding.limit?.rides[0]]), judged() {} },
      signs: { takeRefusal: () => null },
      lead: async () => 'ended' as const,
      log: silentLog,
    };
    const life = new Life('stand by', () => {});
    const run = new Terms({ ...deps, life }).run();
    await run.catch((cause) => {
      if (cause !== over) throw cause;
    });
    return { followed, took };
  }
  const moving = (look: number) => `led ${look}`;

  // docs/rules.md#take-over
  it('as far as every tag has got, is folded where the last look or the one before asked for no more, and says why not', async () => {
    const looks = [
      { positions: [null, null] },
      { positions: [null, stored(3, 'another')] },
      { positions: [stored(7), stored(5), stored(1, 'another')] },
      { positions: [stored(8), stored(8), null], rides: 5 },
      { positions: [stored(9), stored(9)] },
      { positions: [stored(9), stored(9)], rides: 9 },
    ];
    const followed = [['no views'], ['of another log'], ['behind', 5], ['folded', 8], ['behind', 9], ['folded', 9]];
    expect((await stoodBy(moving, looks)).followed.map((one) => one.filter((part) => part !== undefined))).toEqual(
      followed,
    );
    const grown = [{ positions: [stored(1, 'the log', { ...at(1), rides: [1, 1] })] }, { positions: [] }];
    await expect(stoodBy(moving, grown)).rejects.toThrow('partitions');
  });

  it('and leads once it is there, or where the position will never be reached', async () => {
    const still = (positions: (string | null)[]) => Array.from({ length: 9 }, () => ({ positions }));
    const led = () => 'led';
    expect((await stoodBy(led, still([null]))).took).toBe(4);
    expect((await stoodBy(led, still([stored(3)]))).took).toBe(-1);
    expect(
      (await stoodBy(led, [...still([stored(3)]).slice(2), { positions: [stored(3)], rides: 3 }, ...still([null])]))
        .took,
    ).toBe(7);
    expect((await stoodBy(led, still([stored(10)]))).took).toBe(4);
  });
});
