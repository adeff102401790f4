import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { archive, publish } from './archive.ts';
import { freshness } from './freshness.ts';
import { idle } from './idle.ts';
import { me, reads } from './reads.ts';
import { start } from './start.ts';
import { type Bench, measureInTurns } from './versions.ts';

/** `npm run bench -- <name> …`: prints figures; it is no test, and asserts nothing. test/bench/README.md has the options. */
const benches: Record<string, Bench> = { start, reads, me, freshness, archive, publish, idle };

if (process.argv[2] === '--help') {
  console.log(`npm run bench -- NAME…   measures: ${Object.keys(benches).join(', ')} (test/bench/README.md)`);
  process.exit();
}
const names = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const asked = names.flatMap((name) => benches[name] ?? []);
if (names.length === 0 || asked.length < names.length) {
  console.error(`Cannot measure ${names.join(', ') || 'nothing'}: want some of ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
const own = Object.assign({}, ...asked.map(({ options }) => options)) as Record<string, string>;
const options = Object.fromEntries(
  ['old', 'rounds', ...Object.keys(own)].map((name) => [name, { type: 'string' as const }]),
);
const { values } = parseArgs({ options, args: process.argv.slice(2), allowPositionals: true });
// Figures mean nothing without the machine.
console.log(
  `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB · Node ${process.versions.node}`,
);
for (const bench of asked) {
  console.log();
  await measureInTurns(bench, values as Record<string, string>);
}
