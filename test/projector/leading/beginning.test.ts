import { describe, expect, it } from 'vitest';
import { beginning, inOrder, placeOf, usable } from '../../../projector/leading/beginning.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import { topicNames } from '../../../schemas/events/records.ts';

const log = 'the log';
const at = (rides: number) =>
  ({ ...Object.fromEntries(topicNames.map((topic) => [topic, [0]])), rides: [rides] }) as Position;
const left = (rides: number, sum: string, open: string[] = []) => ({
  position: JSON.stringify({ log, position: at(rides), sum, fanOuts: [] }),
  open,
  compare: false,
});

// docs/rules.md#beginning
describe('a new leader compares', () => {
  const compared = (tags: ReturnType<typeof left>[], sums: Record<number, string>): number[] => {
    const taken = new Map(tags.map((tag, i) => [i, tag]));
    const positions = inOrder(tags.map(({ position }) => usable(position, log, at(9))));
    const reached = new Map(
      positions.flatMap((one) => {
        const sum = sums[one.position.rides[0]!];
        return sum === undefined ? [] : [[placeOf(one), sum] as const];
      }),
    );
    const folded = { sums: reached, at: positions.at(-1) ?? null };
    return [...beginning(taken, log, at(9), folded).compare];
  };

  it('no tag that was left with its own facts, at whatever position', () => {
    expect(compared([left(5, 'e'), left(3, 'c'), left(5, 'e')], { 3: 'c', 5: 'e' })).toEqual([]);
  });

  it('a tag that was left with other facts at an earlier position: its store is of before the log lost records', () => {
    expect(compared([left(5, 'e'), left(3, 'of lost records')], { 3: 'c', 5: 'e' })).toEqual([1]);
    expect(compared([left(5, 'e'), left(5, 'of lost records')], { 5: 'e' })).toContain(1);
  });

  it('a tag whose position could not be reached exactly, and all where the furthest has other facts', () => {
    expect(compared([left(5, 'e'), left(3, 'c')], { 5: 'e' })).toEqual([1]);
    expect(compared([left(5, 'x'), left(3, 'c')], { 3: 'c', 5: 'e' })).toEqual([0, 1]);
  });
});
