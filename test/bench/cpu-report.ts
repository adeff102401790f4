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

process.on('message', () => void process.send!(used()));
// Or a command would never end.
process.channel?.unref();
// Whoever measures may be killed.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('exit', () => {
  if (process.env.BENCH_USED) writeFileSync(process.env.BENCH_USED, JSON.stringify(used()));
});
