import { appendFileSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { type RunnerTestCase, TestRunner, type TestTryOptions } from 'vitest';
import { type Line, linesOf, overIn, type Plan, planFile, type Verdict } from './record.ts';

/** What the code that Stryker's instrumenter wrote looks at. */
interface Switch {
  activeMutant: string | undefined;
  currentTestId: string | undefined;
  /** How often a test was run so far: memos forget each time (laps.ts). */
  tries: number;
  hitCount: number | undefined;
  hitLimit: number;
  mutantCoverage: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

const global = globalThis as unknown as { __stryker__: Switch; __judging__?: { plan: Plan; over: Set<string> } };
global.__stryker__ ??= {
  activeMutant: undefined,
  currentTestId: undefined,
  tries: 0,
  hitCount: undefined,
  hitLimit: Number.POSITIVE_INFINITY,
  mutantCoverage: { static: {}, perTest: {} },
};
const mutation = global.__stryker__;

// A mutant that never comes to an end, and never lets go, ends this process, in its test or after it. The next run goes on after it.
const betweenMsMax = 100_000;
const beats = new Int32Array(new SharedArrayBuffer(8));
function endIfBlocked(): void {
  setInterval(() => Atomics.add(beats, 0, 1), 500).unref();
  const watch = `
    const { workerData: beats } = require('node:worker_threads');
    let last = -1, atMs = 0;
    setInterval(() => {
      const now = Atomics.load(beats, 0), limitMs = Atomics.load(beats, 1);
      const { user, system } = process.cpuUsage(), nowMs = (user + system) / 1000;
      if (now !== last) [last, atMs] = [now, nowMs];
      else if (limitMs > 0 && nowMs - atMs > limitMs) process.kill(process.pid, 'SIGKILL');
    }, 1000);`;
  new Worker(watch, { eval: true, workerData: beats }).unref();
}

/** How long this process has run or waited, without the time in which others had the processor. */
function spentMs(): number {
  const { user, system } = process.cpuUsage();
  return performance.eventLoopUtilization().idle + (user + system) / 1000;
}

type Attempt = { mutant: string | null } | 'over';

/**
 * Runs each test once, and then once for each mutant that it reaches and nothing has told yet, in one process: nothing
 * is loaded anew. What it tells counts once it has passed again without a mutant. It does that after two, after four more,
 * after eight more and so on. Where it fails then, it judges no more.
 */
export default class JudgingRunner extends TestRunner {
  readonly #plan: Plan;
  readonly #over: Set<string>;
  #waiting: string[] = [];
  #attempt: Attempt = 'over';
  /** What was told since the test last passed without a mutant, and after how many it is run without one. */
  #unsure: Verdict[] = [];
  #unsureMax = 1;
  #failed: Error | null = null;
  #tookMs = 0;

  constructor(...given: ConstructorParameters<typeof TestRunner>) {
    super(...given);
    // One runner for each file, in one process.
    if (!global.__judging__) {
      const plan: Plan = JSON.parse(readFileSync(planFile, 'utf8'));
      global.__judging__ = { plan, over: new Set(overIn(linesOf(plan.record)).keys()) };
      endIfBlocked();
    }
    this.#plan = global.__judging__.plan;
    this.#over = global.__judging__.over;
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    this.#attempt = { mutant: null };
    const { reached } = this.#plan;
    if (!reached) return;
    this.#waiting = Object.keys(reached[test.id] ?? {}).filter((mutant) => !this.#over.has(mutant));
    if (this.#waiting.length === 0) test.mode = 'skip';
    // Once as it is; then each mutant, and after it perhaps once more as it is.
    else test.repeats = 2 * this.#waiting.length;
    this.#unsure = [];
    this.#unsureMax = 1;
  }

  override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options);
    this.#failed = null;
    mutation.tries += 1;
    // Of a mutant that was late, expectations are still awaited.
    test.promises = [];
    if (!this.#plan.reached) mutation.currentTestId = test.id;
    if (this.#attempt === 'over' || this.#attempt.mutant === null) return;
    const { mutant } = this.#attempt;
    this.#note({ begun: mutant, by: test.id });
    mutation.activeMutant = mutant;
    mutation.hitCount = 0;
    mutation.hitLimit = 10 * this.#plan.reached![test.id]![mutant]! + 10_000;
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    if (this.#attempt === 'over') return;
    const startMs = spentMs();
    const limitMs = 3_000 + 10 * Math.max(this.#tookMs, this.#plan.tookMs?.[test.id] ?? 100_000);
    const { promise: limit, reject } = Promise.withResolvers<never>();
    if (this.#attempt.mutant !== null) Atomics.store(beats, 1, limitMs);
    const timer = setInterval(() => {
      if (spentMs() - startMs > limitMs) reject(new Error('Late: the test timed out'));
    }, 500);
    try {
      await Promise.race([TestRunner.getTestFn(test)(), limit]);
    } catch (error) {
      this.#failed = error as Error;
    } finally {
      clearInterval(timer);
      Atomics.store(beats, 1, betweenMsMax);
      if (this.#attempt.mutant === null) this.#tookMs = spentMs() - startMs;
    }
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options);
    mutation.activeMutant = undefined;
    mutation.currentTestId = undefined;
    const isLate = String(this.#failed).includes('timed out') || (mutation.hitCount ?? 0) > mutation.hitLimit;
    mutation.hitCount = undefined;
    const failed = this.#failed !== null || test.result?.state === 'fail';
    const attempt = this.#attempt;
    if (attempt === 'over') return;
    if (!this.#plan.reached) return this.#noteReached(test, !failed);
    if (test.result) test.result.state = 'pass';
    const { mutant: judged } = attempt;
    if (judged === null) {
      for (const line of failed ? [{ spoiled: test.id }] : this.#unsure) this.#note(line);
      if (failed) this.#waiting = [];
      else for (const line of this.#unsure) this.#over.add(line.mutant);
      this.#unsure = [];
      this.#unsureMax *= 2;
    } else if (failed) this.#unsure.push({ mutant: judged, fate: isLate ? 'late' : 'told', by: test.id });
    else this.#note({ mutant: judged, fate: 'survived', by: test.id });
    if (this.#unsure.length >= (this.#waiting.length > 0 ? this.#unsureMax : 1)) {
      this.#attempt = { mutant: null };
      return;
    }
    const mutant = this.#waiting.shift();
    this.#attempt = mutant === undefined ? 'over' : { mutant };
  }

  override onAfterRunFiles(files: Parameters<TestRunner['onAfterRunFiles']>[0]): void {
    super.onAfterRunFiles(files);
    if (!this.#plan.reached) this.#note({ atLoad: Object.keys(mutation.mutantCoverage.static) });
    for (const { filepath } of files) this.#note({ ended: filepath });
  }

  #noteReached(test: RunnerTestCase, passed: boolean): void {
    const { perTest } = mutation.mutantCoverage;
    const { id, name, file } = test;
    this.#note({ test: id, file: file.filepath, name, tookMs: this.#tookMs, passed, reached: perTest[id] ?? {} });
    delete perTest[id];
    this.#attempt = 'over';
  }

  #note(line: Line): void {
    appendFileSync(this.#plan.record, `${JSON.stringify(line)}\n`);
  }
}
