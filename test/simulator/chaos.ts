import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { metMin, rarePairs } from './faults.ts';
import { runSeed } from './run-seed.ts';
import { runWorlds } from './worlds.ts';

const usage = `npm run chaos -- --seeds 300000   so many worlds, on all cores (1,000 where nothing is said)
  --from 5000       begins at this seed
npm run chaos -- --seed 17        one world, with all that its processes say`;
const number = { type: 'string' } as const;
const progressMs = 10_000;
const toldPairs = 10;

async function replay(seed: number): Promise<boolean> {
  const { said, fault, reads, answered } = await runSeed(seed);
  for (const line of said) console.log(line);
  console.log(fault ? `seed ${seed}: ${fault.stack}` : `seed ${seed}: ${reads} reads, ${answered} answered`);
  return fault === null;
}

async function many(from: number, count: number): Promise<boolean> {
  const begunMs = performance.now();
  const seconds = (): string => `${((performance.now() - begunMs) / 1_000).toFixed(0)} s`;
  let [told, toldMs] = [0, begunMs];
  const { seeds, reads, answered, failures, met } = await runWorlds({
    from,
    count,
    workers: availableParallelism(),
    failuresMax: 10,
    onProgress(progress) {
      for (const { seed, message } of progress.failures.slice(told))
        console.log(`seed ${seed}: ${message}\n  npm run chaos -- --seed ${seed}`);
      told = progress.failures.length;
      if (performance.now() - toldMs < progressMs) return;
      toldMs = performance.now();
      console.log(`${progress.seeds} of ${count} seeds in ${seconds()}, ${told} failed`);
    },
  });
  console.log(`${seeds} seeds in ${seconds()}, ${failures.length} failed; ${reads} reads, ${answered} answered`);
  const rare = rarePairs(met);
  console.log(`${rare.length} pairs of faults overlapped, or came within a second, less than ${metMin} times:`);
  for (const [name, count] of rare.slice(0, toldPairs)) console.log(`${String(count).padStart(8)}  ${name}`);
  return failures.length === 0;
}

try {
  const { values } = parseArgs({ options: { seed: number, seeds: number, from: number, help: { type: 'boolean' } } });
  const { seed, from = '1', seeds = '1000', help } = values;
  if (help) console.log(usage);
  else process.exitCode = (await (seed ? replay(Number(seed)) : many(Number(from), Number(seeds)))) ? 0 : 1;
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 2;
}
