import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type RunResult, runFaults } from './harness/run-faults.ts';
import { type StoreKind, storeKinds } from './harness/stores.ts';
import { allFaults } from './nemesis/nemesis.ts';

const usage = `npm run faults -- --minutes 30 --seed 7
  --minutes 30        how long faults come (10)
  --seed 7            which schedule (1)
  --redis cluster     single (default), replica or cluster
  --faults "a,b"      only these faults; --list prints all of them
  --out FOLDER        where the history goes
  --quiet-machine     the strict limits: well again within 15 s, and without a fault nothing over 50 ms older than elsewhere`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;

function given() {
  const options = {
    minutes: text,
    seed: text,
    redis: text,
    faults: text,
    out: text,
    list: flag,
    help: flag,
  };
  const { values } = parseArgs({ options: { ...options, 'quiet-machine': flag } });
  const number = (name: 'minutes' | 'seed', usual: number): number => {
    const found = Number(values[name] ?? usual);
    if (!(found >= 0)) throw new Error(`--${name} wants a number`);
    return found;
  };
  const redis = (values.redis ?? 'single') as StoreKind;
  if (!storeKinds.includes(redis)) throw new Error(`--redis wants one of ${storeKinds.join(', ')}`);
  const faults = values.faults?.split(',') ?? null;
  const unknown = faults?.filter((name) => !allFaults.some((fault) => fault.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`--faults has none called ${unknown.join(', ')}: --list prints them`);
  const { out = null, list, help, 'quiet-machine': isQuiet } = values;
  return { minutes: number('minutes', 10), seed: number('seed', 1), redis, faults, out, isQuiet, list, help };
}

/** How often each fault came, and each pair. */
function report({ faults, alone, together, failures }: RunResult): void {
  for (const name of faults) console.log(`${String(alone.get(name) ?? 0).padStart(4)} × ${name}`);
  for (const [pair, count] of together) console.log(`${String(count).padStart(4)} × ${pair}`);
  console.log(`${together.size} of ${(faults.length * (faults.length - 1)) / 2} pairs came within 5 s`);
  for (const failure of failures) console.log(`could not be done: ${failure}`);
}

try {
  const { list, help, ...options } = given();
  if (help || list) {
    console.log(help ? usage : allFaults.map(({ name }) => name).join('\n'));
  } else {
    const result = await runFaults(options);
    report(result);
    const checker = join(import.meta.dirname, 'check-history.ts');
    const { status } = spawnSync(
      process.execPath,
      [checker, result.history, ...(options.isQuiet ? ['--quiet-machine'] : [])],
      { stdio: 'inherit' },
    );
    console.log(`The history: ${result.history}`);
    process.exitCode = status === 0 && result.failures.length === 0 ? 0 : 1;
  }
} catch (error) {
  const isUsage = /^--|^Unknown option/.test((error as Error).message);
  console.error(isUsage ? `${(error as Error).message}\n\n${usage}` : error);
  process.exitCode = isUsage ? 2 : 1;
}
