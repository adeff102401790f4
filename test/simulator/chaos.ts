import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runSeed } from './run-seed.ts';
import { runWorlds } from './worlds.ts';

const usage = `npm run chaos -- --seeds 300000   so many worlds, on all cores (1,000 where nothing is said)
  --from 5000       begins at this seed
npm run chaos -- --seed 17        one world, with all that its processes say`;
const number = { type: 'string' } as const;

async function replay(seed: number): Promise<boolean> {
  const { said, fault } = await runSeed(seed);
  for (const line of said) console.log(line);
  console.log(`seed ${seed}: ${fault ? fault.stack : 'all came right'}`);
  return fault === null;
}

async function many(from: number, count: number): Promise<boolean> {
  const { seeds, failures } = await runWorlds({
    from,
    count,
    workers: availableParallelism(),
    failuresMax: 10,
    onFailure: ({ seed, message }) => console.log(`seed ${seed}: ${message}\n  npm run chaos -- --seed ${seed}`),
  });
  console.log(`${seeds} seeds, ${failures.length} failed`);
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
