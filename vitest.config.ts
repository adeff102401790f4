import { defineConfig } from 'vitest/config';

// Two tiers by suffix: `x.test.ts` needs nothing, `x.int.test.ts` and `x.e2e.test.ts` need Kafka or Redis,
// which test/setup/backends.ts starts once for the whole run.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Both cores are busy with Kafka and Redis as well: more workers only make time-outs.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
