import { describe, expect, it } from 'vitest';
import { Life } from '../../../projector/leading/life.ts';
import { standBy } from '../../../projector/leading/standby.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

const tags = [3, 4, 5];

type Store = Parameters<typeof stoodBy>[0] & {};

/** Stands by until it may take the tags; says when that is, when each look at all of them began, and which ones told nothing. */
async function stoodBy({
  fenceAt = (_tag: number, _ms: number): string => 'led',
  /** How long the look at all tags takes that begins at a moment. */
  lookMs = (_ms: number): number => 0,
  isFolded = (_ms: number): boolean => true,
  /** Why a sign of life was refused, as a look at some moment asks. */
  refusal = (_ms: number): Error | null => null,
  /** Whether a look, at all tags or at the first alone, that begins at a moment fails. */
  fails = (_ms: number, _isAtAll: boolean): boolean => false,
  /** When it is told to stop. */
  stopMs = Number.POSITIVE_INFINITY,
} = {}) {
  const [began, blind]: [number[], number[]] = [[], []];
  const { lines: said, log, clock, stop, signal } = sharedDeps();
  clock.ms = 0;
  clock.sleep = async (ms) => {
    // Node warns of it.
    expect(ms).toBeGreaterThan(0);
    clock.ms += ms;
    if (clock.ms >= stopMs) stop.abort();
  };
  const leadership = {
    async look(some: readonly number[]) {
      if (some.length > 1) began.push(clock.ms);
      if (fails(clock.ms, some.length > 1)) throw new Error('no connection');
      clock.ms += lookMs(clock.ms);
      if (clock.ms > 120_000) throw Object.assign(new Error('It stands by for ever'), { retry: false });
      return some.map((tag) => ({ fence: fenceAt(tag, clock.ms), position: null }));
    },
    isFree: async (tag: number): Promise<boolean> => (await leadership.look([tag]))[0]!.fence.endsWith(':free'),
  };
  const looks: unknown[] = [];
  const fences = await standBy({
    leadership,
    tags,
    clock,
    log,
    signal,
    life: new Life('stand by', () => {}),
    onLook: (all) => void looks.push(all.map(({ fence }) => fence)),
    refusal: () => refusal(clock.ms),
    onJudged: (could) => could || blind.push(began.length),
    async isFolded() {
      if (clock.ms >= stopMs) stop.abort();
      return isFolded(clock.ms);
    },
  });
  return { fences, ms: clock.ms, began, blind, said, looks };
}

// docs/rules.md#take-over
describe('a standby', () => {
  it('takes tags within a tenth of a second once their leader gives them up, not at its next look, or once it is folded', async () => {
    for (const [foldedMs, answersMs] of [
      [0, 0],
      [1_730, 0],
      [0, 1_400],
    ] as const) {
      const { fences, ms, looks } = await stoodBy({
        fenceAt: (_, ms) => (ms < 1_120 ? `led ${ms}` : ':free'),
        isFolded: (ms) => ms >= foldedMs,
        fails: (ms, isAtAll) => isAtAll && ms >= 1_120 && ms < answersMs,
      });
      expect([fences, looks.at(-1)]).toEqual([tags.map(() => ':free'), fences]);
      expect(ms).toBeGreaterThanOrEqual(foldedMs);
      expect(ms).toBeLessThanOrEqual(Math.max(1_120, foldedMs, answersMs) + 100);
    }
  });

  it('waits for every tag, also one that was absent or whose leader died while giving up, for five looks half a second apart', async () => {
    const absent = await stoodBy({ fenceAt: (tag, ms) => (tag === 5 && ms < 7_300 ? `led ${ms}` : '') });
    expect(absent.ms).toBe(9_500);
    const { fences, ms } = await stoodBy({ fenceAt: (tag) => (tag === 5 ? 'led' : ':free') });
    expect([fences, ms]).toEqual([[':free', ':free', 'led'], 2_000]);
  });

  it('of a slow store counts its looks all the same, each begun half a second after the answer of the one before', async () => {
    const { fences, began, blind } = await stoodBy({ fenceAt: () => 'led', lookMs: () => 2_000 });
    expect(fences).toEqual(['led', 'led', 'led']);
    const pausesMs = began.slice(1).map((ms, i) => ms - began[i]! - 2_000);
    expect(pausesMs).toHaveLength(4);
    expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(500);
    expect(blind).toEqual([]);
  });

  /** Begins to count its looks anew at a time, after so many that told nothing. */
  async function judgesFrom(fromMs: number, blindLooks: number, unheard: number, why: string, store: Store) {
    const { fences, began, blind, said, looks } = await stoodBy(store);
    expect(fences).toEqual(['led', 'led', 'led']);
    expect(began.filter((ms) => ms >= fromMs)).toHaveLength(5);
    expect([blind.length, looks.length]).toEqual([blindLooks, began.length - unheard]);
    expect([...new Set(said)]).toEqual([
      expect.stringMatching(new RegExp(`^Cannot find out who leads, trying again: .*${why}$`)),
      'It could find out who leads now',
    ]);
  }

  it('begins to count again after a look that tells nothing, says once why it can not judge, and follows what it hears', async () => {
    const full = (ms: number) => (ms < 10_000 || ms === 11_000 ? new Error('Redis is full') : null);
    const refused = 'takes no sign of life, which says nothing about a leader: Redis is full';
    await judgesFrom(11_001, 21, 0, refused, { refusal: full });
    const late = 'took over 2 s, which says nothing about a leader';
    await judgesFrom(20_000, 5, 0, late, { lookMs: (ms) => (ms < 20_000 ? 2_001 : 1) });
    // Also looks at the first tag alone fail, between two looks at all.
    await judgesFrom(2_200, 2, 2, 'no connection', { fails: (ms) => ms > 1_000 && ms < 2_200 });
  });

  it('takes nothing once it is told to stop: between two looks, or while it asks whether it is folded', async () => {
    const free = () => ':free';
    expect((await stoodBy({ stopMs: 700 })).fences).toBeNull();
    expect((await stoodBy({ fenceAt: free, stopMs: 0 })).fences).toBeNull();
    const { fences, ms } = await stoodBy({ fenceAt: (_, ms) => (ms > 0 ? ':free' : 'led'), stopMs: 100 });
    expect([fences, ms]).toEqual([null, 100]);
  });
});
