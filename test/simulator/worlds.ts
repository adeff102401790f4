import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { runSeed } from './run-seed.ts';

/** What became of some seeds. */
export interface Progress {
  seeds: number;
  reads: number;
  answered: number;
  failures: { seed: number; message: string }[];
  /** How often two faults met. */
  met: Record<string, number>;
}

const nothingYet = (): Progress => ({ seeds: 0, reads: 0, answered: 0, failures: [], met: {} });

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
  const total = nothingYet();
  const work = (share: Share) =>
    new Promise<unknown>((resolve, reject) => {
      const worker = new Worker(new URL(import.meta.url), { workerData: { simulator: share } });
      worker.on('message', (part: Progress) => {
        add(total, part);
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

function add(total: Progress, part: Progress): void {
  total.seeds += part.seeds;
  total.reads += part.reads;
  total.answered += part.answered;
  total.failures.push(...part.failures);
  for (const [pair, count] of Object.entries(part.met)) total.met[pair] = (total.met[pair] ?? 0) + count;
}

// A thread tells of so many worlds at a time, and of a failure at once.
const toldSeeds = 50;

async function runShare({ from, end, step }: Share): Promise<void> {
  let part = nothingYet();
  for (let seed = from; seed < end; seed += step) {
    const { fault, ...outcome } = await runSeed(seed);
    add(part, { ...outcome, seeds: 1, failures: fault ? [{ seed, message: fault.message }] : [] });
    if (!fault && part.seeds < toldSeeds && seed + step < end) continue;
    parentPort!.postMessage(part);
    part = nothingYet();
  }
}

const { simulator } = (workerData ?? {}) as { simulator?: Share };
if (!isMainThread && simulator) {
  // Errors are part of every world: where they came from is of interest only when one seed is replayed.
  Error.stackTraceLimit = 0;
  await runShare(simulator);
}
