import { afterAll, beforeAll, it } from 'vitest';
import { runSeed } from '../simulator/run-seed.ts';

const count = 300;
// Most mutants fail one of the first worlds: the rest is not run then.
const step = 50;
const { stackTraceLimit } = Error;

// Errors are part of every world, and where they came from costs half of its time.
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

for (let from = 1; from <= count; from += step) {
  it(`worlds from ${from} on mislead no reader and come right`, { timeout: 120_000 }, async () => {
    for (let seed = from; seed < from + step; seed++) {
      const { fault } = await runSeed(seed);
      if (fault) throw fault;
    }
  });
}
