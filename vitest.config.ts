import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Tiers by suffix: `x.test.ts` needs nothing; `x.int.test.ts` and `x.e2e.test.ts` need Kafka or Redis, which
// test/setup/backends.ts starts once for a run that has any of them.
const needServers = ['test/**/*.int.test.ts', 'test/**/*.e2e.test.ts'];

// Thousands of simulated worlds are a tier of their own, so that the unit tests stay quick.
const worlds = ['test/simulator/simulator.test.ts'];

/** Tests of archives write and sync thousands of small files: in memory that takes half the time. */
function roomyFolder(): string {
  const inMemory = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize > 2 ** 31 ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

// Faults mostly wait, and nothing else lasts as long: begun last, they would run alone. What counts the objects of its process
// wants one that is new.
const longest = /(faults|long-life)\.e2e/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(longest.test(b.moduleId)) - Number(longest.test(a.moduleId)));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Tests of processes mostly wait: two workers left a third of two cores idle.
    maxWorkers: 4,
    // Files share a process and its modules, which are most of a small file's work. So no test may leave a global changed.
    isolate: false,
    // On a busy machine vitest's own second is no time at all. What never comes fails two minutes later.
    expect: { poll: { timeout: 120_000 } },
    // The ride-management system of tests has oidc-provider's own pages, and it warns of them.
    onConsoleLog: (log) => !log.startsWith('oidc-provider '),
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...needServers, ...worlds],
          testTimeout: 360_000,
          hookTimeout: 360_000,
          env: { TMPDIR: roomyFolder() },
        },
      },
      {
        extends: true,
        test: { name: 'worlds', include: worlds },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: needServers,
          globalSetup: ['test/setup/backends.ts'],
          testTimeout: 360_000,
          hookTimeout: 360_000,
        },
      },
    ],
  },
});
