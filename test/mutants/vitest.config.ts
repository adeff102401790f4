import { defineConfig } from 'vitest/config';

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
    env: { RUNS: '20' },
  },
});
