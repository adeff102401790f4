import { dirname, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const laborious = /test\/(mutants|properties|reference)|(law|large-map)\.test/;

/** Most mutants fail a test of their own room. What takes seconds is run last, and then seldom. */
class LikelyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { related, root } = this.ctx.config;
    const room = dirname(relative(root, related?.[0] ?? root));
    const rank = ({ moduleId }: TestSpecification): number => {
      if (laborious.test(moduleId)) return 2;
      return moduleId.includes(`/test/${room}/`) ? 0 : 1;
    };
    return files.sort((a, b) => rank(a) - rank(b));
  }
}

/** The tests that judge mutants: those of the unit tier that reach the measured folders, and 300 fixed worlds. */
export default defineConfig({
  test: {
    include: [
      'test/{api/calendar,api/http,examples,infra/memory,infra/redis,projector,properties,reference,simulator}/**/*.test.ts',
      'test/services/operate/generations.int.test.ts',
      'test/mutants/fixed-worlds.ts',
    ],
    exclude: [
      '**/*.e2e.test.ts',
      'test/{api,examples,projector,properties,reference,simulator}/**/*.int.test.ts',
      'test/simulator/simulator.test.ts',
    ],
    runner: 'test/mutants/judging-runner.ts',
    setupFiles: ['test/mutants/same-runs.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    isolate: false,
    // It knows a module by its file, so it would give the code as it was before the mutants came into it.
    fsModuleCache: false,
    sequence: { sequencer: LikelyFirst },
    env: { RUNS: '20' },
  },
});
