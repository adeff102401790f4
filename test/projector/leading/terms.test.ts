import { describe, expect, it, vi } from 'vitest';
import { Life, type TermEnd } from '../../../projector/leading/life.ts';
import { takeAll } from '../../../projector/leading/standby.ts';
import { Terms } from '../../../projector/leading/terms.ts';
import { type EventLog, FoldAgainError, type Position } from '../../../projector/ports/event-log.ts';
import type { TakenTag } from '../../../projector/ports/view-writer.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

const tags = [3, 4, 5];
const bounds = byTopic((topic) => [{ low: 0, end: topic === 'rides' ? 9 : 0 }]);

const left: TakenTag = { position: null, open: [], compare: false };

// docs/rules.md#fence
it('the tags are taken all, or none: what was taken is free again', async () => {
  const taken = async (take: (tag: number, seen: string) => Promise<TakenTag | null>) => {
    const freed: number[] = [];
    const leadership = { take, free: async (tag: number) => void freed.push(tag) };
    return [await takeAll(leadership, tags, ['a', 'b', 'c']).catch(String), freed];
  };
  const each = tags.map((tag, i) => [tag, { ...left, position: 'abc'[i] }] as const);
  expect(await taken(async (_, position) => ({ ...left, position }))).toEqual([new Map(each), []]);
  expect(await taken(async (tag) => (tag === 3 ? null : left))).toEqual([null, []]);
  expect(await taken(async (tag) => (tag === 4 ? null : left))).toEqual([null, [3, 5]]);
  const away = (): never => {
    throw new Error('no connection');
  };
  expect(await taken(async (tag) => (tag === 5 ? away() : left))).toEqual(['Error: no connection', [3, 4]]);
});

it('a term takes no step that its chart does not have: nothing is written without a fold', () => {
  expect(() => new Life('stand by', () => {}).to('write')).toThrow('Cannot go from "stand by" to "write"');
});

describe('a standby folds', () => {
  const at = (rides: number) => positionAt({ rides });
  const stored = (rides: number, log = 'the log', position = at(rides)) =>
    JSON.stringify({ log, position, sum: '', fanOuts: [] });

  /** Looks, each with the positions of the tags, and how far the log is folded by then. Says what it made of each, and when it took the tags. */
  async function stoodBy(
    fence: (look: number) => string,
    looks: { positions: (string | null)[]; rides?: number }[],
    { ends = [], ...eventLog }: Pick<EventLog, 'judgesAnew'> & { ends?: (TermEnd | null)[] } = {},
  ) {
    const taken: [tag: number, fence: string, doubtful: boolean][] = [];
    const { stop, ...shared } = sharedDeps();
    const over = Object.assign(new Error('no more looks'), { retry: false });
    let [look, rides, took, rejectsEnded] = [-1, 0, -1, 0];
    const followed: (string | number | undefined)[][] = [];
    const folding = {
      limit: null as Position | null,
      isBehind: (position: Position) => rides < position.rides[0]!,
      intake: { aside: { end: () => void rejectsEnded++ } },
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
      isAsLeft: (tag: number) => tag !== 4,
      async take(tag: number, fence: string, doubtful: boolean) {
        taken.push([tag, fence, doubtful]);
        // Another one was quicker.
        if (ends[0] === null) return ends.shift() as null;
        if (ends.length > 0) return left;
        took = look;
        stop.abort();
        return null;
      },
    };
    const [roles, judged] = [[] as string[], vi.fn()];
    const life = new Life('stand by', (role) => roles.at(-1) === role || roles.push(role));
    const terms = new Terms({
      ...shared,
      leadership,
      tags,
      folding,
      bounds,
      life,
      identity: 'the log',
      eventLog: { bounds: async () => bounds, ...eventLog },
      status: { followed: (fold) => void followed.push([fold, folding.limit?.rides[0]]), judged },
      signs: { takeRefusal: () => null },
      async lead() {
        life.to('fold');
        const end = ends.shift()!;
        life.to(end);
        return end;
      },
    });
    await terms.run().catch((cause) => {
      if (cause !== over) throw cause;
    });
    return { followed, judged, took, taken, rejectsEnded, roles, said: shared.lines };
  }
  const moving = (look: number) => `led ${look}`;
  const led = () => 'led';
  const still = (positions: (string | null)[]) => Array.from({ length: 10 }, () => ({ positions }));

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
    const { followed } = await stoodBy(moving, looks);
    const wanted = ['no views', 'of another log', 'behind 5', 'folded 8', 'behind 9', 'folded 9'];
    expect(followed.map((one) => one.join(' ').trim())).toEqual(wanted);
    const grown = [{ positions: [stored(1, 'the log', { ...at(1), rides: [1, 1] })] }, { positions: [] }];
    await expect(stoodBy(moving, grown)).rejects.toThrow('partitions');
  });

  it('and leads once it is there, or where the position will never be reached', async () => {
    expect((await stoodBy(led, still([null]))).took).toBe(4);
    expect((await stoodBy(led, still([stored(3)]))).took).toBe(-1);
    const looks = [...still([stored(3)]).slice(3), { positions: [stored(3)], rides: 3 }, ...still([null])];
    expect((await stoodBy(led, looks)).took).toBe(7);
    expect((await stoodBy(led, still([stored(10)]))).took).toBe(4);
  });

  it('and takes its tags again where the store lost something, doubting those that are not as they were left', async () => {
    const lost = await stoodBy(led, still([null, null, null]), { ends: ['lost', 'free'] });
    const { taken, rejectsEnded, roles, said } = lost;
    expect(taken).toEqual([...tags.map((tag) => [tag, 'led', false]), ...tags.map((tag) => [tag, 'led', tag === 4])]);
    expect([rejectsEnded, roles]).toEqual([0, ['standby', 'leader']]);
    expect(said).toEqual([
      expect.stringMatching(/^The view store lost or changed something: .* compare its views with the log$/),
    ]);
    expect((await stoodBy(led, still([null]), { ends: ['ended'] })).said).toEqual([]);
  });

  // docs/rules.md#rejected
  it('and stands by again where another projector leads, which tells the rejects', async () => {
    // What the look before the term asked for says nothing of what the new leader has written.
    const looks = Array.from({ length: 15 }, (_, i) => ({
      positions: [stored(i < 10 ? 3 : 9)],
      rides: i < 11 ? 3 : 9,
    }));
    const fenced = await stoodBy(led, looks, { ends: [null, 'fenced'] });
    expect(fenced).toMatchObject({ rejectsEnded: 1, took: 14, roles: ['standby', 'leader', 'standby'] });
    expect(fenced.said).toEqual([expect.stringContaining('Another projector has taken over')]);
    expect(fenced.followed[10]).toEqual(['behind', 9]);
    expect(fenced.judged).toHaveBeenCalledWith(true);
  });

  // docs/rules.md#kept-schemas
  it('and takes no tag with an old judgement: where a schema that it judged unknown is known now, it folds anew', async () => {
    const folds = stoodBy(led, still([null]), { judgesAnew: async () => true });
    await expect(folds).rejects.toThrow(FoldAgainError);
    const judgesAnew = vi.fn(async () => false).mockRejectedValueOnce(new Error('away'));
    const again = await stoodBy(led, still([null]), { judgesAnew });
    expect([again.took, again.said]).toEqual([9, [expect.stringContaining('standing by again: away')]]);
  });
});
