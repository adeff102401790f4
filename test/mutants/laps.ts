import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { createVitest } from 'vitest/node';
import type { BrokenCode, Mutant } from './broken-code.ts';
import { kept, linesOf, overIn, type Plan, planFile, type Verdict } from './record.ts';

export type Fate = Verdict['fate'] | 'not reached' | 'at load';

// Quick tests come first: most mutants never meet a slow one.
const lapsMs = [30, 150, 1_000, Number.POSITIVE_INFINITY];

// Every test of HTTP needs a projector's views, and tells no more of the projector than its own tests do.
const mayJudge = (file: string, { folder }: Mutant): boolean =>
  !file.includes('/test/api/') || folder.startsWith('api/');

// What is kept from one try of a test to the next would hide a mutant, or outlive it.
const forgetful = (id: string): string | undefined =>
  id.endsWith('/api/messages/memoize.ts')
    ? `export const memoize = (make) => {
        let [made, madeIn] = [new Map(), 0];
        return (text) => {
          const { tries } = globalThis.__stryker__;
          if (tries !== madeIn) [made, madeIn] = [new Map(), tries];
          if (!made.has(text)) made.set(text, make(text));
          return made.get(text);
        };
      };`
    : undefined;

// What only a real Redis tells.
const needsRedis = ({ folder }: Mutant): boolean => folder.startsWith('infra/redis');

/** What the tests say of each of these mutants: all tests, or those whose path has one of `by` in it. */
export async function judge(
  { mutants, sources }: BrokenCode,
  by: string[] | undefined,
): Promise<(mutant: Mutant) => Fate> {
  const withRedis = mutants.some(needsRedis);
  const vitest = await createVitest(
    'test',
    { config: 'test/mutants/vitest.config.ts', watch: false, reporters: [{}], pool: 'forks', maxWorkers: 1 },
    {
      plugins: [{ name: 'mutants', enforce: 'pre', load: (id) => sources.get(id.split('?')[0]!) ?? forgetful(id) }],
      test: {
        exclude: [
          ...(mutants.some((one) => mayJudge('/test/api/', one)) ? [] : ['test/api/**']),
          ...(withRedis ? [] : ['**/*.int.test.ts']),
        ],
        globalSetup: withRedis ? ['test/setup/backends.ts'] : [],
      },
    },
  );
  const run = async (plan: Plan, testFiles?: string[]): Promise<void> => {
    writeFileSync(planFile, JSON.stringify(plan));
    vitest.state.filesMap.clear();
    await vitest.start(testFiles);
  };

  const reachRecord = `${kept}/reached.jsonl`;
  rmSync(reachRecord, { force: true });
  await run({ record: reachRecord }, by);
  const reach = linesOf(reachRecord);
  const tests = reach.filter((line) => 'tookMs' in line);
  for (const { passed, file, name } of tests)
    if (!passed) console.log(`does not judge, since it fails without a mutant: ${file}: ${name}`);
  const judges = tests.filter(({ passed }) => passed);

  const asked = new Map(mutants.map((one) => [one.id, one]));
  const record = `${kept}/judged.jsonl`;
  rmSync(record, { force: true });
  for (const [lap, toMs] of lapsMs.entries()) {
    const fromMs = lapsMs[lap - 1] ?? -1;
    for (;;) {
      const judged = linesOf(record);
      const over = overIn(judged);
      const tried = new Set(judged.map((line) => ('fate' in line ? `${line.mutant} ${line.by}` : '')));
      const reached: Plan['reached'] = {};
      for (const { test, file, tookMs, reached: all } of judges) {
        if (tookMs <= fromMs || tookMs > toMs) continue;
        const left = Object.entries(all).filter(([id]) => {
          const one = asked.get(id);
          return one && mayJudge(file, one) && !over.has(id) && !tried.has(`${id} ${test}`);
        });
        if (left.length > 0) reached[test] = Object.fromEntries(left);
      }
      const lapTests = judges.filter(({ test }) => test in reached);
      if (lapTests.length === 0) break;
      console.log(`${asked.size - over.size} mutants left; tests that take up to ${toMs} ms: ${lapTests.length}`);
      const tookMs = Object.fromEntries(lapTests.map((one) => [one.test, one.tookMs]));
      await run({ record, reached, tookMs }, [...new Set(lapTests.map(({ file }) => file))]);
      const last = linesOf(record).findLast((line) => 'begun' in line || 'ended' in line);
      if (last && 'ended' in last) break;
      if (!last || !('begun' in last) || over.has(last.begun))
        throw new Error('Cannot judge: the tests ended before all were run');
      // The process ended amid a mutant that blocked it, or after. The others are judged without that one.
      const late: Verdict = { mutant: last.begun, fate: 'late', by: last.by };
      appendFileSync(record, `${JSON.stringify(late)}\n`);
    }
  }
  await vitest.close();

  const lines = linesOf(record);
  for (const line of lines)
    if ('spoiled' in line)
      console.log(`judged not to its end: ${tests.find(({ test }) => test === line.spoiled)?.name}`);
  const over = overIn(lines);
  const reached = new Set(judges.flatMap((test) => Object.keys(test.reached)));
  const atLoad = new Set(reach.flatMap((line) => ('atLoad' in line ? line.atLoad : [])));
  return ({ id }) => over.get(id) ?? (reached.has(id) ? 'survived' : atLoad.has(id) ? 'at load' : 'not reached');
}
