import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LastRevisions } from '../../../projector/intake/last-revisions.ts';

describe('a revision revisions', () => {
  // docs/rules.md#revision
  it('notices each revision that is lower than the one before of the same key', () => {
    const top = 2 ** 26 - 1;
    const number = fc.constantFrom(0, 1, top - 1, top);
    const seen = fc.array(fc.record({ first: number, second: number, revision: fc.integer({ min: -2, max: 3 }) }));
    fc.assert(
      fc.property(seen, (records) => {
        const revisions = new LastRevisions();
        const last = new Map<string, number>();
        for (const { first, second, revision } of records) {
          const key = `${first}/${second}`;
          expect(revisions.regressed(first, second, revision)).toBe(
            revision < (last.get(key) ?? Number.NEGATIVE_INFINITY),
          );
          last.set(key, revision);
        }
      }),
    );
  });

  it('forgets keys rather than mix them up: among many, none falls that did not', () => {
    const revisions = new LastRevisions();
    // More keys than it has room for, each at a lower revision than the one before it.
    for (let i = 400_000; i > 0; i--) {
      if (revisions.regressed(i, 2 * i, i)) throw new Error(`key ${i} regressed`);
    }
  });
});
