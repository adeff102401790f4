import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { ignoreChanges, tellAll } from '../../../projector/facts/touched.ts';
import type { Ride, Rider } from '../../../schemas/events/records.ts';
import { recordKey, sampleRecords } from '../../support/worlds/records.ts';

it('a fold tells each change to all who subscribe, until they unsubscribe', () => {
  const fold = new Fold();
  const told: string[] = [];
  const listener = (name: string) => ({
    ...ignoreChanges,
    ride: () => told.push(`${name} ride`),
    card: () => told.push(`${name} card`),
  });
  const ride = () => fold.apply('rides', recordKey('rides', 'ride1'), sampleRecords.rides as Ride);
  const rider = () => fold.apply('riders', recordKey('riders', 'r1'), sampleRecords.riders as Rider);
  rider();
  const [first, second] = [fold.subscribe(listener('first')), fold.subscribe(listener('second'))];
  rider();
  first();
  rider();
  second();
  ride();
  expect(told).toEqual(['first card', 'second card', 'second card']);
});

it('a single listener is told without a detour', () => {
  const listener = { ...ignoreChanges };
  expect([tellAll([listener]), tellAll([])]).toEqual([listener, ignoreChanges]);
  expect(tellAll([listener])).toBe(listener);
});
