import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { addCounts } from './pairs.ts';
import { runSeed } from './run-seed.ts';

/** What became of some seeds, one after another. */
export interface Progress {
  seeds: number;
  reads: number;
  answered: number;
  failures: { seed: number; message: string }[];
  /** How often each fault struck. */
  struck: Record<string, number>;
  /** How often two faults met (pairs.ts). */
  met: Record<string, number>;
}

const nothingYet = (): Progress => ({ seeds: 0, reads: 0, answered: 0, failures: [], struck: {}, met: {} });

export interface Wanted {
  from: number;
  count: number;
  workers: number;
  /** No world is begun after so many have failed. */
  failuresMax: number;
  onProgress?(progress: Progress): void;
}

// A worker is given so many at a time: more than it takes to ask for them, few enough that all end together.
const sliceSeeds = 50;

interface Slice {
  from: number;
  count: number;
}

/**
 * Runs the worlds of these seeds in worker threads, which run the sources as they are. Each world is the same in any
 * thread.
 */
export async function runWorlds({ from, count, workers, failuresMax, onProgress }: Wanted): Promise<Progress> {
  const total = nothingYet();
  let next = from;
  const take = (): Slice | null => {
    if (!(next < from + count) || total.failures.length >= failuresMax) return null;
    const slice = { from: next, count: Math.min(sliceSeeds, from + count - next) };
    next += slice.count;
    return slice;
  };
  const done = (part: Progress): void => {
    total.seeds += part.seeds;
    total.reads += part.reads;
    total.answered += part.answered;
    total.failures.push(...part.failures);
    addCounts(total.struck, part.struck);
    addCounts(total.met, part.met);
    onProgress?.(total);
  };
  await Promise.all(Array.from({ length: workers }, () => work(take, done)));
  total.failures.sort((a, b) => a.seed - b.seed);
  return total;
}

async function work(take: () => Slice | null, done: (part: Progress) => void): Promise<void> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { simulator: true },
  });
  try {
    for (let slice = take(); slice; slice = take()) done(await asked(worker, slice));
  } finally {
    await worker.terminate();
  }
}

async function asked(worker: Worker, slice: Slice): Promise<Progress> {
  const answered = once(worker, 'message') as Promise<[Progress]>;
  worker.postMessage(slice);
  // Rejects with an error of the worker.
  const [part] = await answered;
  return part;
}

async function runSlice({ from, count }: Slice): Promise<Progress> {
  const part = { ...nothingYet(), seeds: count };
  for (let seed = from; seed < from + count; seed++) {
    const { fault, reads, answered, struck, met } = await runSeed(seed);
    part.reads += reads;
    part.answered += answered;
    addCounts(part.struck, struck);
    addCounts(part.met, met);
    if (fault) part.failures.push({ seed, message: fault.message });
  }
  return part;
}

if (!isMainThread && (workerData as { simulator?: true } | null)?.simulator) {
  // Errors are part of every world: where they came from is of interest only when one seed is replayed.
  Error.stackTraceLimit = 0;
  parentPort!.on('message', (slice: Slice) => {
    void runSlice(slice).then((part) => parentPort!.postMessage(part));
  });
}
