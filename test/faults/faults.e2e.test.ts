import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { busyLimits } from './check-answers.ts';
import { checkHistory } from './checker.ts';
import { runFaults } from './harness/run-faults.ts';
import { openHistory } from './history.ts';

/** Each once, in these pairs: deaths of processes, losses of the store and of the log, a broker's death and a partition. */
const faults = [
  ...['leader killed', 'redis killed, back with an older snapshot'],
  ...['log loses its tail', 'leader paused and deposed'],
  ...['redis half open', 'redis emptied'],
];

it('faults in pairs leave a history without a finding', async () => {
  const { history, together, failures } = await runFaults({
    seed: 1,
    minutes: null,
    faults,
    out: null,
    isQuiet: false,
  });
  const findings = checkHistory(await openHistory(history), busyLimits);
  // Kept on failure.
  expect({ history, failures, findings: findings.slice(0, 10) }).toEqual({ history, failures: [], findings: [] });
  expect(together.size).toBe(faults.length / 2);
  await rm(dirname(history), { recursive: true });
}, 600_000);
