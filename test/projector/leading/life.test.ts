import { expect, it } from 'vitest';
import { Life, type Step } from '../../../projector/leading/life.ts';

/** A way to each step, from the first. */
const ways: Record<Step, Step[]> = {
  'stand by': [],
  look: ['look'],
  take: ['look', 'take'],
  fold: ['look', 'take', 'fold'],
  begin: ['look', 'take', 'fold', 'begin'],
  write: ['look', 'take', 'fold', 'begin', 'write'],
  free: ['look', 'take', 'fold', 'free'],
  fenced: ['look', 'take', 'fold', 'fenced'],
  lost: ['look', 'take', 'fold', 'lost'],
  'take again': ['look', 'take', 'fold', 'lost', 'take again'],
  ended: ['look', 'take', 'fold', 'ended'],
};
const steps = Object.keys(ways) as Step[];

// docs/rules.md#take-over
it('a term has no other steps than its chart: no tag is taken without a look, and nothing is written without a fold', () => {
  const legal = steps.flatMap((from) =>
    steps.flatMap((next) => {
      const life = new Life('stand by', () => {});
      for (const step of ways[from]) life.to(step);
      try {
        life.to(next);
        return [`${from} > ${next}`];
      } catch (cause) {
        expect(String(cause)).toBe(
          `Error: Cannot go from "${from}" to "${next}" in the life of a term. This is a fault of the program`,
        );
        return [];
      }
    }),
  );
  expect(legal.map((arrow) => arrow.split(' > ')).toSorted()).toEqual(
    [
      ...['stand by > look', 'look > stand by', 'look > take', 'take > stand by', 'take > fold'],
      ...['fold', 'begin', 'write'].flatMap((from) =>
        ['free', 'fenced', 'lost', 'ended'].map((end) => `${from} > ${end}`),
      ),
      ...['fold > begin', 'begin > write', 'fenced > stand by'],
      ...['lost > take again', 'take again > stand by', 'take again > fold'],
    ]
      .map((arrow) => arrow.split(' > '))
      .toSorted(),
  );
});

it('a projector leads from its fold on, also while it takes its tags again, until it stands by', () => {
  const said: string[] = [];
  const life = new Life('take', (role) => void said.push(role));
  const all: Step[] = [
    'fold',
    'lost',
    'take again',
    'fold',
    'begin',
    'write',
    'fenced',
    'stand by',
    'look',
    'take',
    'fold',
  ];
  for (const step of all) life.to(step);
  expect(said).toEqual(['leader', 'leader', 'standby', 'leader']);
});
