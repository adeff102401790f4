import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import type { Used } from './cpu-report.ts';

/** The baseline of reads: the plainest Fastify route there is for each size, a constant Buffer and nothing of ours. */
process.on('message', async (message: { sizes: number[] } | 'used') => {
  if (message === 'used') {
    const { user, system } = process.cpuUsage();
    process.send!({ cpuSeconds: (user + system) / 1e6, rssMiBMax: 0 } satisfies Used);
    return;
  }
  const app = Fastify({ logger: false });
  for (const size of new Set(message.sizes)) {
    const body = Buffer.alloc(size, '{"constant":"buffer"}');
    app.get(`/${size}`, (_request, reply) => reply.header('Content-Type', 'application/json').send(body));
  }
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.send!({ port: (app.server.address() as AddressInfo).port });
});
process.on('SIGTERM', () => process.exit());
