import type { TestProject } from 'vitest/node';
import { findBackends } from '../../infra/local/find-backends.ts';

declare module 'vitest' {
  interface ProvidedContext {
    kafkaBrokers: string;
    redisUrl: string;
    /** Empty, or why there is no Kafka or Redis: what to install. */
    backendsError: string;
  }
}

/** Starts Kafka and Redis once for the whole run, before the first test file that needs them. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  try {
    const backends = await findBackends();
    project.provide('kafkaBrokers', backends.kafkaBrokers);
    project.provide('redisUrl', backends.redisUrl);
    project.provide('backendsError', '');
    return backends.stop;
  } catch (error) {
    // Not thrown here: the tests that need the servers fail with it, one by one, and are counted.
    project.provide('kafkaBrokers', '');
    project.provide('redisUrl', '');
    project.provide('backendsError', error instanceof Error ? error.message : String(error));
    return undefined;
  }
}
