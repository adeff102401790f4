import { parseArgs } from 'node:util';
import { busyLimitMs, checkHistory, usualLimitMs } from './checker.ts';
import { allFaults } from './harness/all-faults.ts';
import { schedule } from './harness/nemesis.ts';
import { runFaults } from './harness/run-faults.ts';
import { readHistory } from './history.ts';

const usage = `npm run faults -- --minutes 30 --seed 7
  --minutes 30        how long faults come (10)
  --seed 7            which schedule (1)
  --faults "a,b"      only these faults, of: ${Object.keys(allFaults).join(', ')}
  --quiet-machine     the strict limits: well again within 15 s, and nothing over 2 s older than elsewhere
npm run faults -- --check FILE     judges a history again; --quiet-machine if its run had it`;
const shownMax = 50;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const options = { minutes: text, seed: text, faults: text, check: text, help: flag, 'quiet-machine': flag };
const { values } = parseArgs({ options });
const [minutes, seed] = [Number(values.minutes ?? 10), Number(values.seed ?? 1)];
const names = values.faults?.split(',') ?? Object.keys(allFaults);
const isKnown = names.every((name) => name in allFaults);
if (values.help || !(minutes >= 0 && seed >= 0 && isKnown)) {
  console.log(usage);
  process.exit(values.help ? 0 : 2);
}
const isQuiet = values['quiet-machine'] ?? false;
const { history, failures } = values.check
  ? { history: values.check, failures: [] }
  : await runFaults({ steps: schedule(names, seed), seed, minutes, isQuiet });
for (const failure of failures) console.log(`could not be done: ${failure}`);
console.log(`The history: ${history}`);
const lines = await readHistory(history);
const findings = checkHistory(lines, isQuiet ? usualLimitMs : busyLimitMs);
for (const { rule, says, lines: at } of findings.slice(0, shownMax))
  console.log(`${rule}: ${says} (lines ${at.join(', ')})`);
console.log(`${lines.length} lines, ${findings.length} findings`);
process.exitCode = findings.length + failures.length === 0 ? 0 : 1;
