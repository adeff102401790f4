import { open } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { busyLimits, usualLimits } from './check-answers.ts';
import { checkHistory } from './checker.ts';
import { readHistory } from './history.ts';

/**
 * `npx node test/faults/check-history.ts FILE [--quiet-machine]`: prints what a history must not hold. Ends with 1 if there is anything, or no
 * file. An answer may be ten seconds older than another one, in a fault or without, unless the machine was quiet.
 */
const { values, positionals } = parseArgs({
  options: { 'quiet-machine': { type: 'boolean' } },
  allowPositionals: true,
});
const [file] = positionals;
if (file === undefined) throw new Error('Usage: npx node test/faults/check-history.ts FILE [--quiet-machine]');
const lines = await readHistory((await open(file)).readLines());
const findings = checkHistory(lines, values['quiet-machine'] ? usualLimits : busyLimits);
const shownMax = 20;
for (const [rule, all] of Map.groupBy(findings, (each) => each.rule)) {
  for (const { says, lines: at } of all.slice(0, shownMax)) console.log(`${rule}: ${says} (lines ${at.join(', ')})`);
  if (all.length > shownMax) console.log(`${rule}: and ${all.length - shownMax} more`);
}
console.log(`${lines.length} lines, ${findings.length} findings`);
process.exitCode = findings.length > 0 ? 1 : 0;
