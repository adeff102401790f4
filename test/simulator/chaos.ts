import { runSeed } from './run-seed.ts';

/** `npm run chaos -- --seeds 300000`, `--from 5000`, or `--seed 17` to replay one with all that it says. */
const argument = (name: string): number | null => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? null : Number(process.argv[at + 1]);
};
const one = argument('seed');
const from = one ?? argument('from') ?? 1;
const count = one === null ? (argument('seeds') ?? 1_000) : 1;
const failedMax = argument('failures') ?? 10;
const begunMs = performance.now();
let [failed, reads, answered] = [0, 0, 0];
let seed = from;
for (; seed < from + count && failed < failedMax; seed++) {
  const outcome = await runSeed(seed);
  reads += outcome.reads;
  answered += outcome.answered;
  if (one !== null) for (const line of outcome.said) console.log(line);
  if (outcome.fault) {
    failed += 1;
    console.log(`seed ${seed}: ${one === null ? outcome.fault.message : outcome.fault.stack}`);
    console.log(`  npm run chaos -- --seed ${seed}`);
  }
}
const seconds = (performance.now() - begunMs) / 1_000;
console.log(`${seed - from} seeds in ${seconds.toFixed(1)} s, ${failed} failed; ${reads} reads, ${answered} answered`);
process.exitCode = failed > 0 ? 1 : 0;
