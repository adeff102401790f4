import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import type { LocalServer } from '../../infra/local/local-process.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { otherCore, pin } from './pinned-process.ts';

/** Folders and servers, which end with a bench. The servers and this process are on the core that is not measured. */
export function sceneOf(ended: AsyncDisposableStack) {
  pin(process.pid, otherCore);
  async function pinned<Server extends LocalServer>(starting: Promise<Server>): Promise<Server> {
    const server = await starting;
    ended.defer(() => server.stop());
    pin(server.pid, otherCore);
    return server;
  }
  return {
    broker: () => pinned(startKafkaBroker()),
    redis: () => pinned(startRedisServer()),
    async folder(): Promise<string> {
      const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-bench-'));
      ended.defer(() => rm(folder, { recursive: true, force: true }));
      return folder;
    },
  };
}
