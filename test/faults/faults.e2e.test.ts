import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { busyLimits } from './check-answers.ts';
import { checkHistory } from './checker.ts';
import { runFaults } from './harness/run-faults.ts';
import { readHistory } from './history.ts';

/** Two minutes of `npm run faults`: those that are over soon. By this seed, the first seven steps have each of them. */
const faults = [
  'leader killed',
  'leader paused and deposed',
  'api paused',
  'redis emptied',
  'redis killed, back with an older snapshot',
  'redis drops every connection',
  'redis half open',
  'kafka paused',
  'kafka killed and started',
  'log loses its tail',
];

it('two minutes of faults leave a history without a finding', async () => {
  const { history, alone, together, failures } = await runFaults({
    ...{ seed: 308, minutes: 2, redis: 'single', faults, out: null, alerts: false, isQuiet: false },
  });
  const findings = checkHistory(await readHistory((await open(history)).readLines()), busyLimits);
  // Kept on failure.
  expect({ history, failures, findings: findings.slice(0, 10) }).toEqual({ history, failures: [], findings: [] });
  expect(alone.size + together.size).toBeGreaterThan(3);
  await rm(dirname(history), { recursive: true });
}, 600_000);
