import { describe, expect, it } from 'vitest';
import { hasMoved, StillFences } from '../../../projector/ports/leading.ts';

const times = (count: number, look: () => boolean): boolean[] => Array.from({ length: count }, look);

// docs/rules.md#fence
describe('a fence', () => {
  it('has moved where two looks saw two fences: a first look and an absent fence say nothing', () => {
    expect(hasMoved('1:7:a:led', '1:8:a:led')).toBe(true);
    expect(hasMoved(null, '1:0:a:led')).toBe(true);
    expect(hasMoved('1:7:a:led', '1:7:a:led')).toBe(false);
    expect(hasMoved(undefined, '1:7:a:led')).toBe(false);
    expect(hasMoved('1:7:a:led', null)).toBe(false);
  });
});

// docs/rules.md#take-over
describe('fences', () => {
  it('may be taken once they have not moved in five looks, absent ones too', () => {
    const one = new StillFences();
    expect(times(6, () => one.looked(['1:7:a:led', '']))).toEqual([false, false, false, false, true, true]);
  });

  it('may be taken at once where all say that they are free', () => {
    expect(new StillFences().looked(['1:7:a:free', '1:3:a:free'])).toBe(true);
    expect(new StillFences().looked(['1:7:a:free', '1:3:a:led'])).toBe(false);
  });

  it('may not be taken while a single one moves', () => {
    const one = new StillFences();
    let sequence = 0;
    expect(times(20, () => one.looked(['1:7:a:led', `1:${sequence++}:a:led`]))).not.toContain(true);
    expect(times(5, () => one.looked(['1:7:a:led', '1:0:a:led']))).toEqual([false, false, false, false, true]);
  });

  it('are counted anew after a look that failed or was slow: a frozen store deposes nobody', () => {
    const one = new StillFences();
    const fences = ['1:7:a:led'];
    for (let again = 0; again < 10; again++) {
      expect(times(4, () => one.looked(fences))).not.toContain(true);
      one.missed();
    }
    expect(times(5, () => one.looked(fences))).toEqual([false, false, false, false, true]);
  });
});
