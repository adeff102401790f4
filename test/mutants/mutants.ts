import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { brokenCode } from './broken-code.ts';
import { type Fate, judge } from './laps.ts';
import { kept } from './record.ts';
import { scriptMutants } from './script-mutants.ts';

const usage = `npm run mutants -- --files projector/writing   breaks this folder's code in every small way, and says which the tests miss
  --files a.ts,b.ts   files or folders, by commas (all measured folders where nothing is said)
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
const scriptsGoal = 80;
const goalOf = (folder: string): number =>
  Object.entries(goals).find(([measured]) => `${folder}/`.startsWith(`${measured}/`))?.[1] ?? 0;

interface Report {
  testResults: { assertionResults: { ancestorTitles: string[]; status: string }[] }[];
}

/** The names of the mutants of Redis's scripts that a contract tells. */
async function toldScripts(outputFile: string): Promise<Set<string>> {
  const config = 'test/mutants/scripts.vitest.config.ts';
  const args = ['vitest', 'run', '--config', config, '--reporter=json', '--outputFile', outputFile];
  await once(spawn('npx', args, { stdio: 'ignore' }), 'exit');
  const { testResults } = JSON.parse(readFileSync(outputFile, 'utf8')) as Report;
  const failed = testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter((one) => one.status === 'failed'),
  );
  const told = new Set(failed.map(({ ancestorTitles }) => ancestorTitles[0]!));
  if (told.has('no mutant'))
    throw new Error(`Cannot judge: a contract fails without a mutant: npx ${args.slice(0, 4).join(' ')}`);
  return told;
}

function given() {
  try {
    return parseArgs({
      options: {
        files: { type: 'string' },
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

const { files, by, scripts, help } = given();
if (help) {
  console.log(usage);
  process.exit(0);
}
mkdirSync(kept, { recursive: true });
if (scripts) {
  const told = await toldScripts(`${kept}/scripts.json`);
  for (const { name } of scriptMutants) if (!told.has(name)) console.log(`survived: ${name}`);
  const score = (100 * told.size) / scriptMutants.length;
  console.log(`scripts: ${told.size} of ${scriptMutants.length} told, ${score.toFixed(1)} % (${scriptsGoal} % wanted)`);
  process.exit(score < scriptsGoal ? 1 : 0);
}

const code = await brokenCode(files?.split(',') ?? Object.keys(goals));
const fateOf = await judge(code, by?.split(','));

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
