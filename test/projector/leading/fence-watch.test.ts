import { describe, expect, it } from 'vitest';
import { FenceWatch } from '../../../projector/leading/fence-watch.ts';

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
