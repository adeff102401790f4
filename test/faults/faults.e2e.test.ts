import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { busyLimitMs, checkHistory } from './checker.ts';
import type { Step } from './harness/nemesis.ts';
import { runFaults } from './harness/run-faults.ts';
import { readHistory } from './history.ts';

/** Deaths of processes, losses of the store and of the log, a broker's death and a partition. */
const steps: readonly Step[] = [
  ['leader killed', 'redis killed, back with an older snapshot'],
  ['log loses its tail', 'leader paused and deposed'],
  ['redis half open', 'redis emptied'],
];

it('faults in pairs leave a history without a finding', async () => {
  const { history, failures } = await runFaults({ steps, seed: 1, minutes: 60, isQuiet: false });
  const lines = await readHistory(history);
  const findings = checkHistory(lines, busyLimitMs);
  // Kept on failure.
  expect({ history, failures, findings: findings.slice(0, 10) }).toEqual({ history, failures: [], findings: [] });
  expect(lines.filter(({ type }) => type === 'fault')).toHaveLength(2 * steps.length);
  await rm(dirname(history), { recursive: true });
}, 600_000);
