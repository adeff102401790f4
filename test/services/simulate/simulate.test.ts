import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { generatorVersion, simulation, steppingClock } from '../../../services/simulate/world/simulation.ts';
import { defaultSizes, sizeLimits } from '../../../services/simulate/world/sizes.ts';
import { secretPlaceMark } from '../../../services/simulate/world/texts.ts';
import type { SimulatedRecord, SimulationOptions } from '../../../services/simulate/world/world.ts';
import { latestRecords } from '../../reference/facts.ts';
import { badRecord } from '../../support/worlds/judged-record.ts';

const today = 20_778; // 2026-11-21

function take(options: Partial<SimulationOptions> = {}, changes = 0): SimulatedRecord[] {
  const { initial, changes: ongoing } = simulation({ ...defaultSizes, today, ...options });
  const records = [...initial()];
  if (changes === 0) return records;
  let left = changes;
  for (const record of ongoing(steppingClock(today, 3_600_000 / changes))) {
    records.push(record);
    if (--left === 0) break;
  }
  return records;
}

const digest = (records: SimulatedRecord[]): string => hash('sha256', JSON.stringify(records));

// Fails with any change to what is generated: raise generatorVersion with it, so that kept samples are made again.
it('the simulation makes the same records from the same options, changes included, and others from another seed or day', () => {
  expect([generatorVersion, digest(take()).slice(0, 16)]).toEqual([5, '0b69dfe5c128c64f']);
  const changed = take({}, 2_000);
  expect(digest(changed)).toBe(digest(take({}, 2_000)));
  const times = changed.map(({ timestampMs }) => timestampMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(new Set([take(), take({ seed: 2 }), take({ today: today + 1 })].map(digest)).size).toBe(3);
});

it.each([
  ['every metro', { metros: sizeLimits.metros[1], rides: 60, riders: 90 }],
  ['one of each', { metros: 1, rides: 1, riders: 1, days: 1 }],
])('the simulation keeps the rules of the event log, and lets revisions rise, with %s', (_, sizes) => {
  const records = take(sizes, 5_000);
  expect(records.filter(({ topic, key, value }) => badRecord(topic, key, value)).slice(0, 3)).toEqual([]);
  const published = records.filter(({ value }) => value !== null);
  for (const [, own] of Map.groupBy(published, ({ topic, key }) => `${topic} ${key}`)) {
    const revisions = own.map(({ value }) => Number(value!.revision));
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  }
});

it('the default sample marks the names of secret places, and no other, so that a search for leaks finds them', () => {
  for (const { meeting } of latestRecords(take()).nights.values()) {
    expect(meeting?.place_name?.startsWith(secretPlaceMark) ?? false).toBe(meeting?.secret ?? false);
  }
});

it('the default sample has a live developer key and a rider worth looking at, with another seed too', () => {
  const { initial, developerKey, rider } = simulation({ ...defaultSizes, seed: 77, today });
  const facts = latestRecords(initial());
  expect(developerKey).toMatch(/^rck_[A-Za-z0-9_-]{43}$/);
  const hashes = [...facts['developer-keys'].values()].map((key) => key.key_hash.toString('hex'));
  expect(hashes).toContain(hash('sha256', developerKey));
  expect(facts.riders.has(rider)).toBe(true);
  const own = [...facts.attendance.values()].filter((answer) => answer.rider === rider);
  const kinds = own.map(({ response, day }) => `${response} ${day < today ? 'past' : 'coming'}`);
  expect(kinds).toEqual(expect.arrayContaining(['GOING coming', 'CONFIRMED past']));
  expect([...facts.rides.values()].some(({ leaders }) => leaders.includes(rider))).toBe(true);
  const marks = [...facts.relations.values()].filter((relation) => relation.rider === rider);
  for (const mark of ['follows', 'close', 'flagged'] as const)
    expect(marks.some((relation) => relation[mark])).toBe(true);
});
