import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import type { ViewReader } from '../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { redisViewReader } from '../../infra/redis/redis-view-reader.ts';
import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { silentLog } from '../../projector/ports/log.ts';
import type { ViewWriter } from '../../projector/ports/view-writer.ts';
import { Projector } from '../../projector/projector.ts';
import { loadSettings } from '../../services/settings/settings.ts';
import { loadSignInFiles } from '../../services/settings/sign-in-files.ts';
import { makeLogger } from '../../services/wiring/command/logger.ts';
import { apiMetrics } from '../../services/wiring/http/api-metrics.ts';
import { processMetrics } from '../../services/wiring/http/process-metrics.ts';
import { serve } from '../../services/wiring/http/serve.ts';
import { benchCalendar } from './bench-calendar.ts';
import { memoryEventLog } from './memory-event-log.ts';

/**
 * One server of the reads benchmark, in a process of its own: `constant`, `memory`, `redis URL`; or the projector that
 * fills Redis and keeps its fences moving, `projector URL`. It tells its port, then answers messages.
 */
const [role, redisUrl = ''] = process.argv.slice(2);
const redis = { url: redisUrl, cluster: false, keyPrefix: 'bench:' };

async function project(writer: ViewWriter): Promise<void> {
  const projector = new Projector({
    eventLog: memoryEventLog(benchCalendar()),
    writer,
    rejects: null,
    log: silentLog,
  });
  void projector.run(new AbortController().signal);
  while (!projector.ready) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The service as `start` and `api` run it, its sign-in, docs and metrics included. */
async function service(reader: ViewReader): Promise<FastifyInstance> {
  const settings = loadSettings({ LOG_LEVEL: 'silent', DATA_DIR: '.cache/bench' });
  const metrics = apiMetrics(processMetrics(silentLog));
  const files = await loadSignInFiles(settings);
  const { signal } = new AbortController();
  const { app } = await serve({ settings, reader, metrics, log: makeLogger(settings), files, signal });
  return app;
}

/** The plainest Fastify route there is for each size: a constant Buffer, and nothing of ours. */
function constants(sizes: readonly number[]): FastifyInstance {
  const app = Fastify({ logger: false });
  for (const size of new Set(sizes)) {
    const body = Buffer.alloc(size, '{"constant":"buffer"}');
    app.get(`/${size}`, (_request, reply) => reply.header('Content-Type', 'application/json').send(body));
  }
  app.get('/304', (_request, reply) => reply.code(304).header('ETag', '"constant"').send());
  return app;
}

async function start(sizes: readonly number[]): Promise<FastifyInstance | null> {
  switch (role) {
    case 'constant':
      return constants(sizes);
    case 'memory': {
      const store = new MemoryViewStore();
      await project(store.writer());
      return service(store.reader());
    }
    case 'redis':
      return service(redisViewReader(redis));
    default:
      await project(await redisViewWriter(redis));
      return null;
  }
}

process.on('message', async (message: { start?: number[]; cpu?: true }) => {
  if (message.start) {
    const app = await start(message.start);
    await app?.listen({ host: '127.0.0.1', port: 0 });
    process.send!({ port: (app?.server.address() as AddressInfo | undefined)?.port ?? 0 });
  } else {
    const { user, system } = process.cpuUsage();
    process.send!({ cpuSeconds: (user + system) / 1e6 });
  }
});
process.on('SIGTERM', () => process.exit());
