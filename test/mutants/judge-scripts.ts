import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { runSeed } from '../simulator/run-seed.ts';
import { type ScriptMutant, scriptMutants } from './script-mutants.ts';

export const scriptsGoal = 80;
const worlds = 300;

interface Report {
  testResults: { assertionResults: { ancestorTitles: string[]; status: string }[] }[];
}

/** The names of the mutants that a contract tells. */
async function toldByContracts(outputFile: string): Promise<Set<string>> {
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

/** Whether a world misleads a reader or does not come right. */
async function isToldByWorlds(mutant: ScriptMutant): Promise<boolean> {
  mutant.apply();
  try {
    for (let seed = 1; seed <= worlds; seed++) if ((await runSeed(seed)).fault) return true;
    return false;
  } finally {
    mutant.restore();
  }
}

/** Judges the mutants of the scripts that Redis runs, and names those that nothing tells. */
export async function judgeScripts(kept: string): Promise<{ told: number; all: number }> {
  const told = await toldByContracts(`${kept}/scripts.json`);
  console.log(`contracts tell ${told.size} of ${scriptMutants.length}`);
  Error.stackTraceLimit = 0;
  // What a mutant leaves undone may be thrown where nobody waits.
  process.on('unhandledRejection', () => {});
  for (const mutant of scriptMutants) {
    if (told.has(mutant.name)) continue;
    if (!mutant.isSignIn && (await isToldByWorlds(mutant))) told.add(mutant.name);
    else console.log(`survived: ${mutant.name}`);
  }
  return { told: told.size, all: scriptMutants.length };
}
