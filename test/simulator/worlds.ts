import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Outcome, runSeed } from './run-seed.ts';

/** What became of some seeds. */
export interface Progress {
  seeds: number;
  reads: number;
  answered: number;
  failures: { seed: number; message: string }[];
  /** How often two faults met. */
  met: Record<string, number>;
}

interface Wanted {
  from: number;
  count: number;
  workers: number;
  /** Threads end once so many have failed. */
  failuresMax: number;
  onProgress?(progress: Progress): void;
}

/** What a thread is given: every so many seeds. */
interface Share {
  from: number;
  end: number;
  step: number;
}

/**
 * Runs the worlds of these seeds in worker threads, which run the sources as they are. Each world is the same in any
 * thread.
 */
export async function runWorlds({ from, count, workers, failuresMax, onProgress }: Wanted): Promise<Progress> {
  const total: Progress = { seeds: 0, reads: 0, answered: 0, failures: [], met: {} };
  const work = (share: Share) =>
    new Promise<unknown>((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { simulator: share } });
      worker.on('message', ({ seed, fault, reads, answered, met }: Told) => {
        total.seeds += 1;
        total.reads += reads;
        total.answered += answered;
        if (fault !== null) total.failures.push({ seed, message: fault });
        for (const [pair, times] of Object.entries(met)) total.met[pair] = (total.met[pair] ?? 0) + times;
        onProgress?.(total);
        if (total.failures.length >= failuresMax) void worker.terminate();
      });
      worker.on('error', reject).on('exit', resolve);
    });
  const shares = Array.from({ length: workers }, (_, i) => ({ from: from + i, end: from + count, step: workers }));
  await Promise.all(shares.map(work));
  total.failures.sort((a, b) => a.seed - b.seed);
  return total;
}

/** What a thread says of a world. */
type Told = Omit<Outcome, 'said' | 'fault'> & { fault: string | null };

const { simulator } = (workerData ?? {}) as { simulator?: Share };
if (!isMainThread && simulator) {
  // Errors are part of every world: where they came from is of interest only when one seed is replayed.
  Error.stackTraceLimit = 0;
  for (let seed = simulator.from; seed < simulator.end; seed += simulator.step) {
    const { said: _, fault, ...outcome } = await runSeed(seed);
    parentPort!.postMessage({ ...outcome, fault: fault?.message ?? null } satisfies Told);
  }
}
