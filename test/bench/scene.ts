import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import type { LocalServer } from '../../infra/local/local-process.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { startServer } from './commands.ts';
import { otherCore, pin } from './pinned-process.ts';

/** Folders and servers, which end with a bench or a round. What is not measured is on `core`, with this process; null: on any. */
export function sceneOf(ended: AsyncDisposableStack, core: number | null = otherCore) {
  pin(process.pid, core);
  async function pinned<Server extends LocalServer>(starting: Promise<Server>): Promise<Server> {
    const server = await starting;
    ended.defer(() => server.stop());
    pin(server.pid, core);
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
    start: async (...given: Parameters<typeof startServer>) =>
      ended.adopt(await startServer(...given), (server) => server.end()),
  };
}
