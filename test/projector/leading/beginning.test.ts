import { expect, it, vi } from 'vitest';
import { Folding } from '../../../projector/intake/folding.ts';
import { foldToBeginning } from '../../../projector/leading/beginning.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { ride } from '../../reference/example-log.ts';
import { logOf, positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';

const at = (rides: number) => positionAt({ rides });

/** A fold of nine rides that has got so far. */
async function folding(rides: number) {
  const eventLog = logOf(Array.from({ length: 9 }, (_, i) => ride(`ride${i}`)));
  const { stop, lines: said, ...shared } = sharedDeps();
  const deps = { ...shared, eventLog, rejects: null, clock: realClock, identity: 'the log' };
  const folding = new Folding(await eventLog.bounds(), at(rides), deps);
  void folding.follow(stop.signal);
  await folding.foldTo(at(rides), stop.signal);
  return { folding, deps: { ...deps, folding }, said, stop };
}

/** Where a tag was left: after so many rides, with the sum of facts there unless another one is given. */
type Left = { rides: number; sum?: string; log?: string; compare?: true } | 'nowhere';

async function tagLeft(left: Left, open: string[]) {
  if (left === 'nowhere') return { position: null, open, compare: false };
  const { rides, log = 'the log', compare = false } = left;
  const { folding: one, stop } = await folding(Math.min(rides, 9));
  stop.abort();
  const { sum = one.fold.facts.sum.text } = left;
  const fanOuts = [[`star${rides}`, [1]]];
  return { position: JSON.stringify({ log, position: at(rides), sum, fanOuts, begin: at(0) }), open, compare };
}

// docs/rules.md#beginning
it.each<[string, from: number, foldedTo: number, compared: number[], ...Left[]]>([
  ['where all were left with its facts', 0, 5, [], { rides: 5 }, { rides: 3 }],
  // Its store is of before the log lost records.
  [
    'but a tag that was left with other facts',
    0,
    5,
    [0, 1],
    { rides: 5, sum: 'x' },
    { rides: 3, sum: 'x' },
    { rides: 5 },
  ],
  ['where the furthest has other facts', 0, 5, [0, 1], { rides: 5, sum: 'x' }, { rides: 3 }],
  ['but a tag that is passed, or asks for it', 4, 5, [1, 2], { rides: 5 }, { rides: 3 }, { rides: 5, compare: true }],
  [
    'but a tag of another log, beyond the ends, or not there',
    0,
    9,
    [1, 2, 3],
    { rides: 9 },
    { rides: 4, log: 'another' },
    { rides: 10 },
    'nowhere',
  ],
  ['where no tag was left with a position', 2, 2, [0], 'nowhere'],
])('a new leader folds to where it begins, and compares nothing %s', async (_, from, foldedTo, compared, ...tags) => {
  const taken = new Map(
    await Promise.all(tags.map(async (left, i) => [i, await tagLeft(left, [`ride:${i}`])] as const)),
  );
  const { folding: fold, deps, said, stop } = await folding(from);
  // The log begins later than it did for the views.
  Object.assign(fold, { begin: at(2) });
  const published = vi.spyOn(fold.intake.aside, 'begin');
  const begin = await foldToBeginning(taken, at(9), deps);
  expect(published).toHaveBeenCalledOnce();
  stop.abort();
  const right = tags.flatMap((left, i) => (left === 'nowhere' || compared.includes(i) ? [] : [{ i, ...left }]));
  expect(begin).toEqual({
    deleted: tags[0] === 'nowhere' ? null : 'records were deleted from the log: rides/0 below offset 2',
    compare: new Set(compared),
    names: right.map(({ i }) => `ride:${i}`),
    fanOuts: right.map(({ rides }) => [`star${rides}`, [1]]),
  });
  expect(fold.position).toEqual(at(foldedTo));
  const words = right.length > 0 ? `write again: ${right.length} view` : `Leading: ${compared.length} part`;
  expect(said).toEqual([expect.stringContaining(words)]);
});
