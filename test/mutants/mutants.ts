import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { brokenCode } from './broken-code.ts';
import { judgeScripts, scriptsGoal } from './judge-scripts.ts';
import { type Fate, judge } from './laps.ts';
import { kept } from './record.ts';

const usage = `npm run mutants -- --files projector/writing   breaks this folder's code in every small way, and says which the tests miss
  --files a.ts,b.ts   files or folders, by commas (all measured folders where nothing is said)
  --within 1000       only tests that take at most so many milliseconds judge: a quick look, which tells fewer
  --by test/projector only tests with this in their path judge, or one of several, by commas
npm run mutants -- --scripts                   breaks the scripts that Redis runs, line by line`;

/** The measured folders, and how many mutants of a hundred the tests must tell. */
const goals: Record<string, number> = {
  'projector/checking': 90,
  'projector/facts': 90,
  'projector/intake': 90,
  'projector/leading': 90,
  'projector/position': 90,
  'projector/writing': 90,
  'api/calendar': 90,
  'infra/redis': 80,
};
const goalOf = (folder: string): number =>
  Object.entries(goals).find(([measured]) => `${folder}/`.startsWith(`${measured}/`))?.[1] ?? 0;

function given() {
  try {
    return parseArgs({
      options: {
        files: { type: 'string' },
        within: { type: 'string', default: 'Infinity' },
        by: { type: 'string' },
        scripts: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

const { files, within, by, scripts, help } = given();
if (help) {
  console.log(usage);
  process.exit(0);
}
mkdirSync(kept, { recursive: true });
if (scripts) {
  const { told, all } = await judgeScripts(kept);
  console.log(`scripts: ${told} of ${all} told, ${((100 * told) / all).toFixed(1)} % (${scriptsGoal} % wanted)`);
  process.exit(told < (scriptsGoal / 100) * all ? 1 : 0);
}

const code = await brokenCode(files?.split(',') ?? Object.keys(goals));
const fateOf = await judge(code, { withinMs: Number(within), by: by?.split(',') });

let short = 0;
for (const [folder, all] of [...Map.groupBy(code.mutants, ({ folder }) => folder)].sort()) {
  const fates = Map.groupBy(all, fateOf);
  const count = (fate: Fate): number => fates.get(fate)?.length ?? 0;
  for (const fate of ['survived', 'not reached', 'at load'] as const)
    for (const { place, change } of fates.get(fate) ?? []) console.log(`${fate}: ${place}: ${change}`);
  const counts = ['told', 'late', 'survived', 'not reached', 'at load'] as const;
  const score = (100 * (count('told') + count('late'))) / (all.length - count('at load'));
  const wanted = goalOf(folder);
  if (score < wanted) short += 1;
  const said = counts.map((fate) => `${count(fate)} ${fate}`).join(', ');
  console.log(`${folder}: ${all.length}: ${said}: ${score.toFixed(1)} % (${wanted} % wanted)`);
}
process.exitCode = short > 0 ? 1 : 0;
