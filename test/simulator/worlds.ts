import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { runSeed } from './run-seed.ts';

interface Failure {
  seed: number;
  message: string;
}

/** Of all these seeds. `failuresMax`: threads end once so many have failed. */
interface Wanted {
  from: number;
  count: number;
  workers: number;
  failuresMax: number;
  onFailure?(failure: Failure): void;
}

/** Runs the worlds of these seeds in worker threads, which run the sources as they are: each is the same in any thread. */
export async function runWorlds({ from, count, workers, failuresMax, onFailure }: Wanted) {
  const failures: Failure[] = [];
  /** How often two faults met. */
  const met: Record<string, number> = {};
  let seeds = 0;
  const work = (share: Share) =>
    new Promise<unknown>((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { simulator: share } });
      worker.on('message', (told: Told) => {
        seeds += 1;
        for (const [pair, times] of Object.entries(told.met)) met[pair] = (met[pair] ?? 0) + times;
        if (told.message === null) return;
        failures.push(told as Failure);
        onFailure?.(told as Failure);
        if (failures.length >= failuresMax) void worker.terminate();
      });
      worker.on('error', reject).on('exit', resolve);
    });
  const shares = Array.from({ length: workers }, (_, i) => ({ from: from + i, end: from + count, step: workers }));
  await Promise.all(shares.map(work));
  return { seeds, failures: failures.toSorted((a, b) => a.seed - b.seed), met };
}

/** What a thread is given, every so many seeds, and what it says of each world. */
type Share = { from: number; end: number; step: number };
type Told = { seed: number; message: string | null; met: Record<string, number> };

const { simulator } = (workerData ?? {}) as { simulator?: Share };
if (!isMainThread && simulator) {
  // Errors are part of every world: where they came from is of interest only when one seed is replayed.
  Error.stackTraceLimit = 0;
  for (let seed = simulator.from; seed < simulator.end; seed += simulator.step) {
    const { fault, met } = await runSeed(seed);
    parentPort!.postMessage({ seed, message: fault?.message ?? null, met } satisfies Told);
  }
}
