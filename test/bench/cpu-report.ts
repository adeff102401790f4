import { writeFileSync } from 'node:fs';

/** Loaded into a measured process by `--import`: it says what the process used, when asked and in the end. */

/** Since the process began, its code's loading included. */
export interface Used {
  cpuSeconds: number;
  rssMiBMax: number;
}

function used(): Used {
  const { user, system } = process.cpuUsage();
  return { cpuSeconds: (user + system) / 1e6, rssMiBMax: process.resourceUsage().maxRSS / 1_024 };
}

/** Everything this process holds: the heap, and what typed arrays hold beside it. Needs `--expose-gc`. */
function mibHeld(): number {
  // What the first collection frees beside the heap is counted off by the next.
  for (let i = 0; i < 3; i++) globalThis.gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
}

const answers: Record<string, () => unknown> = { used, mibHeld };
process.on('message', (asked: string) => void process.send!({ answer: answers[asked]!() }));
// Or a command would never end.
process.channel?.unref();
// Whoever measures may be killed.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('exit', () => {
  if (process.env.BENCH_USED) writeFileSync(process.env.BENCH_USED, JSON.stringify(used()));
});
