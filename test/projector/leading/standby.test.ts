import { describe, expect, it } from 'vitest';
import { FenceWatch, standBy } from '../../../projector/leading/standby.ts';
import type { Clock } from '../../../projector/ports/clock.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import type { Leadership } from '../../../projector/ports/view-writer.ts';

const tags = [3, 4, 5];

/** Stands by while `fenceAt` says what the fences are at each moment; says when it may take them. */
async function stoodByMs(fenceAt: (tag: number, ms: number) => string, isFolded = (_ms: number) => true) {
  let nowMs = 0;
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
    },
  };
  const leadership = {
    look: async (some: readonly number[]) => some.map((tag) => ({ fence: fenceAt(tag, nowMs), position: null })),
    isFree: (fence: string) => fence === 'free',
  } as unknown as Leadership;
  const { signal } = new AbortController();
  const folded = async () => isFolded(nowMs);
  const deps = { leadership, tags, clock, log: silentLog, signal, onLook() {}, isFolded: folded };
  const fences = await standBy(deps);
  return { fences, ms: nowMs };
}

// docs/rules.md#beginning
describe('a standby', () => {
  it('follows a leader that gives its tags up within a tenth of a second, not at its next look', async () => {
    const { fences, ms } = await stoodByMs((_, ms) => (ms < 1_120 ? `led ${ms}` : 'free'));
    expect(fences).toEqual(['free', 'free', 'free']);
    expect(ms).toBeLessThanOrEqual(1_220);
  });

  it('takes them as soon as it is folded', async () => {
    const { ms } = await stoodByMs(
      (_, ms) => (ms < 1_120 ? `led ${ms}` : 'free'),
      (ms) => ms >= 1_730,
    );
    expect(ms).toBeGreaterThanOrEqual(1_730);
    expect(ms).toBeLessThanOrEqual(1_830);
  });

  it('waits for every tag, and counts five looks half a second apart where a leader has died while giving up', async () => {
    const { fences, ms } = await stoodByMs((tag) => (tag === 5 ? 'led' : 'free'));
    expect(fences).toEqual(['free', 'free', 'led']);
    expect(ms).toBe(2_000);
  });
});

const watch = () => new FenceWatch((fence) => fence.endsWith(':free'));
const times = (count: number, look: () => boolean): boolean[] => Array.from({ length: count }, look);

describe('fences', () => {
  it('may be taken once they have not moved in five looks, absent ones too', () => {
    const one = watch();
    expect(times(6, () => one.looked(['1:7:a:led', '']))).toEqual([false, false, false, false, true, true]);
  });

  it('may be taken at once where all say that they are free', () => {
    expect(watch().looked(['1:7:a:free', '1:3:a:free'])).toBe(true);
    expect(watch().looked(['1:7:a:free', '1:3:a:led'])).toBe(false);
  });

  it('may not be taken while a single one moves', () => {
    const one = watch();
    let sequence = 0;
    expect(times(20, () => one.looked(['1:7:a:led', `1:${sequence++}:a:led`]))).not.toContain(true);
    expect(times(5, () => one.looked(['1:7:a:led', '1:0:a:led']))).toEqual([false, false, false, false, true]);
  });

  it('are counted anew after a look that failed or was slow: a frozen store deposes nobody', () => {
    const one = watch();
    const fences = ['1:7:a:led'];
    for (let again = 0; again < 10; again++) {
      expect(times(4, () => one.looked(fences))).not.toContain(true);
      one.missed();
    }
    expect(times(5, () => one.looked(fences))).toEqual([false, false, false, false, true]);
  });
});
