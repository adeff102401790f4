import { defineConfig } from 'vitest/config';

/** The contracts that judge the mutants of scripts. */
export default defineConfig({
  test: {
    include: ['test/mutants/script-contracts.ts'],
    globalSetup: ['test/setup/backends.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
