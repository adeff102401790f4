import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Seeded random numbers for one part of the simulation: a change in one part changes no other. */
export class Random {
  readonly #rng;

  constructor(seed: number, part: number) {
    this.#rng = xoroshiro128plus(mix32(seed ^ Math.imul(part + 1, 0x9e3779b9)));
  }

  /** At least 0, less than 1. */
  unit(): number {
    return (this.#rng.next() >>> 0) / 0x1_0000_0000;
  }

  /** Both bounds included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.unit() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.unit() * items.length)]!;
  }

  /** An index below `length`, small ones more often: a power law whose head grows with `skew`. 1 is even. */
  rank(length: number, skew: number): number {
    return Math.min(length - 1, Math.floor(length * this.unit() ** skew));
  }

  /** At least `min`, with a long tail. The mean is `min / (1 - tail)`. */
  pareto(min: number, tail: number): number {
    return min / (1 - this.unit()) ** tail;
  }
}

/** A bijective mix of 32-bit numbers (MurmurHash3's finalizer): distinct inputs give distinct outputs. */
export function mix32(n: number): number {
  let h = n >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** A number as `width` digits in this base, up to 62. */
export function toBase(n: number, base: number, width: number): string {
  let text = '';
  for (let rest = n; text.length < width; rest = Math.floor(rest / base)) text = digits[rest % base] + text;
  return text;
}
