import { expect, it } from 'vitest';
import { pairWithinMs, type Step, schedule } from './schedule.ts';

const names = ['a', 'b', 'c', 'd'];
const steps = (seed: number, count: number): Step[] => schedule(names, seed).take(count).toArray();

it('a seed makes one schedule, and another seed another', () => {
  expect(steps(7, 50)).toEqual(steps(7, 50));
  expect(steps(7, 50)).not.toEqual(steps(8, 50));
});

it('each fault comes alone, and each pair together within five seconds, before any comes again', () => {
  // Alone and together by turns: six pairs, and four faults alone.
  const first = steps(7, 12);
  const alone = first.filter(({ names }) => names.length === 1).map(({ names: [name] }) => name);
  const together = first.filter(({ names }) => names.length === 2);
  expect(alone.slice(0, 4).toSorted()).toEqual(names);
  expect(together.map(({ names }) => names.toSorted().join('')).toSorted()).toEqual([
    'ab',
    'ac',
    'ad',
    'bc',
    'bd',
    'cd',
  ]);
  expect(together.every(({ lagMs }) => lagMs >= 0 && lagMs <= pairWithinMs)).toBe(true);
  expect(new Set(together.map(({ lagMs }) => lagMs)).size).toBeGreaterThan(3);
});
