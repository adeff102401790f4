import type { TestProject } from 'vitest/node';
import { startRedisServer } from '../../infra/local/redis-server.ts';

/** Starts a Redis once, for the tests that judge `infra/redis`. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startRedisServer();
  project.provide('redisUrl', server.url);
  project.provide('backendsError', '');
  return server.stop;
}
