import { availableParallelism } from 'node:os';
import { runSeed } from './run-seed.ts';
import { runWorlds } from './worlds.ts';

/** `npm run chaos -- --seeds 300000`, `--from 5000`, or `--seed 17` to replay one with all that it says. */
const argument = (name: string): number | null => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? null : Number(process.argv[at + 1]);
};
const progressMs = 10_000;

async function replay(seed: number): Promise<boolean> {
  const { said, fault, reads, answered } = await runSeed(seed);
  for (const line of said) console.log(line);
  console.log(fault ? `seed ${seed}: ${fault.stack}` : `seed ${seed}: ${reads} reads, ${answered} answered`);
  return fault === null;
}

async function many(from: number, count: number): Promise<boolean> {
  const begunMs = performance.now();
  const workers = argument('workers') ?? availableParallelism();
  const seconds = (): string => `${((performance.now() - begunMs) / 1_000).toFixed(0)} s`;
  let told = 0;
  let toldMs = begunMs;
  const { seeds, reads, answered, failures } = await runWorlds({
    from,
    count,
    workers,
    failuresMax: argument('failures') ?? 10,
    onProgress(progress) {
      for (const { seed, message } of progress.failures.slice(told)) {
        console.log(`seed ${seed}: ${message}\n  npm run chaos -- --seed ${seed}`);
      }
      told = progress.failures.length;
      if (performance.now() - toldMs < progressMs) return;
      toldMs = performance.now();
      console.log(`${progress.seeds} of ${count} seeds in ${seconds()}, ${told} failed`);
    },
  });
  console.log(
    `${seeds} seeds in ${seconds()} on ${workers} threads, ${failures.length} failed; ${reads} reads, ${answered} answered`,
  );
  return failures.length === 0;
}

const one = argument('seed');
const good = one === null ? await many(argument('from') ?? 1, argument('seeds') ?? 1_000) : await replay(one);
process.exitCode = good ? 0 : 1;
