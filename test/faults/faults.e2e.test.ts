import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { busyLimits } from './check-answers.ts';
import { checkHistory } from './checker.ts';
import { runFaults } from './harness/run-faults.ts';
import { readHistory } from './history.ts';

/** A minute of `npm run faults`: by this seed, the first four steps have each of them. */
const faults = [
  'leader killed',
  'leader paused and deposed',
  'redis killed, back with an older snapshot',
  'redis emptied',
  'kafka killed and started',
  'log loses its tail',
];

it('a minute of faults leaves a history without a finding', async () => {
  const { history, alone, together, failures } = await runFaults({
    ...{ seed: 1068, minutes: 1, redis: 'single', faults, out: null, isQuiet: false },
  });
  const findings = checkHistory(await readHistory((await open(history)).readLines()), busyLimits);
  // Kept on failure.
  expect({ history, failures, findings: findings.slice(0, 10) }).toEqual({ history, failures: [], findings: [] });
  expect(alone.size + together.size).toBeGreaterThan(1);
  await rm(dirname(history), { recursive: true });
}, 600_000);
