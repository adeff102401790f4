import { parseArgs } from 'node:util';
import { busyLimits, usualLimits } from './check-answers.ts';
import { checkHistory } from './checker.ts';
import { allFaults } from './harness/all-faults.ts';
import { type RunOptions, runFaults } from './harness/run-faults.ts';
import { openHistory } from './history.ts';

const usage = `npm run faults -- --minutes 30 --seed 7
  --minutes 30        how long faults come (10)
  --seed 7            which schedule (1)
  --faults "a,b"      only these faults; --list prints all of them
  --out FOLDER        where the history goes
  --quiet-machine     the strict limits: well again within 15 s, and without a fault nothing over 50 ms older than elsewhere
npm run faults -- --check FILE     judges a history again; --quiet-machine if its run had it`;

function given() {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { minutes: text, seed: text, faults: text, out: text, check: text, list: flag, help: flag };
  const { values } = parseArgs({ options: { ...options, 'quiet-machine': flag } });
  const number = (name: 'minutes' | 'seed', usual: number): number => {
    const found = Number(values[name] ?? usual);
    if (!(found >= 0)) throw new Error(`--${name} wants a number`);
    return found;
  };
  const faults = values.faults?.split(',') ?? Object.keys(allFaults);
  const unknown = faults.filter((name) => !(name in allFaults));
  if (unknown.length > 0) throw new Error(`--faults has none called ${unknown.join(', ')}: --list prints them`);
  const { out = null, check = null, list, help, 'quiet-machine': isQuiet } = values;
  return { minutes: number('minutes', 10), seed: number('seed', 1), faults, out, isQuiet, check, list, help };
}

/** Does faults, and says how often each came, and each pair. */
async function run(options: RunOptions): Promise<{ history: string; isDone: boolean }> {
  const { history, alone, together, failures } = await runFaults(options);
  for (const name of options.faults) console.log(`${String(alone.get(name) ?? 0).padStart(4)} × ${name}`);
  for (const [pair, count] of together) console.log(`${String(count).padStart(4)} × ${pair}`);
  const { length } = options.faults;
  console.log(`${together.size} of ${(length * (length - 1)) / 2} pairs came within 5 s`);
  for (const failure of failures) console.log(`could not be done: ${failure}`);
  console.log(`The history: ${history}`);
  return { history, isDone: failures.length === 0 };
}

/** Prints what a history must not hold. */
async function judge(file: string, isQuiet: boolean): Promise<boolean> {
  const lines = await openHistory(file);
  const findings = checkHistory(lines, isQuiet ? usualLimits : busyLimits);
  const shownMax = 20;
  for (const [rule, all] of Map.groupBy(findings, (each) => each.rule)) {
    for (const { says, lines: at } of all.slice(0, shownMax)) console.log(`${rule}: ${says} (lines ${at.join(', ')})`);
    if (all.length > shownMax) console.log(`${rule}: and ${all.length - shownMax} more`);
  }
  console.log(`${lines.length} lines, ${findings.length} findings`);
  return findings.length === 0;
}

try {
  const { list, help, check, ...options } = given();
  if (help || list) {
    console.log(help ? usage : Object.keys(allFaults).join('\n'));
  } else {
    const { history, isDone } = check === null ? await run(options) : { history: check, isDone: true };
    process.exitCode = (await judge(history, options.isQuiet)) && isDone ? 0 : 1;
  }
} catch (error) {
  const isUsage = /^--|^Unknown option/.test((error as Error).message);
  console.error(isUsage ? `${(error as Error).message}\n\n${usage}` : error);
  process.exitCode = isUsage ? 2 : 1;
}
