import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '../../../../infra/local/free-port.ts';
import {
  assertCanListen,
  assertCanListenOnAll,
  listen,
  stopListening,
} from '../../../../services/serve/http/listen.ts';
import { loadSettings } from '../../../../services/settings/settings.ts';

async function listening(answer?: Promise<string>) {
  const app = Fastify({ logger: false });
  app.get('/late', (_request, reply) => {
    // As the interface's own answers are written.
    reply.hijack();
    void answer!.then((text) => reply.raw.end(text));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    app,
    async client(text: string): Promise<Socket> {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      socket.write(text);
      return socket;
    },
  };
}

it('a client that never ends its request keeps the process from ending for 5 s', async () => {
  const { app, client } = await listening();
  const accepted = once(app.server, 'connection');
  const request = 'GET / HTTP/1.1\r\nHo';
  const socket = await client(request);
  const [server] = (await accepted) as [Socket];
  await expect.poll(() => server.bytesRead).toBe(request.length);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const stopped = stopListening(app);
  vi.advanceTimersByTime(4_999);
  expect(server.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(server.destroyed).toBe(true);
  await stopped;
  socket.destroy();
});

it('a request in hand is answered first, and its connection ends with it', async () => {
  const answer = Promise.withResolvers<string>();
  const { app, client } = await listening(answer.promise);
  const asked = once(app.server, 'request');
  const socket = await client('GET /late HTTP/1.1\r\nHost: a\r\n\r\n');
  await asked;
  const stopped = stopListening(app, 600_000);
  // Later than the connections that are idle by now are ended.
  await expect.poll(() => app.server.listening).toBe(false);
  answer.resolve('late, and whole');
  const received = (await socket.toArray()).join('');
  await stopped;
  expect(received).toMatch(/^HTTP\/1\.1 200 .*late, and whole/s);
});

it('a HOST that is not this machine’s is a wrong setting', async () => {
  // Of RFC 5737, for documentation: no machine has it.
  const words = 'Cannot use setting HOST: got "192.0.2.1", want an address of this machine, such as 127.0.0.1';
  await expect(assertCanListen(loadSettings({ HOST: '192.0.2.1' }))).rejects.toThrow(words);
});

it.each([
  ['ENOTFOUND', 'Cannot use setting HOST: got "127.0.0.1", want an address of this machine, such as 127.0.0.1'],
  ['EACCES', 'Cannot use setting PORT: got 80, which this user may not listen on, want 1024 or above'],
  ['EMFILE', 'Cannot listen on 127.0.0.1:80: EMFILE, as the system has it'],
])('what the system says by %s is a wrong setting, or said with the address', async (code, words) => {
  const fault = Object.assign(new Error(`${code}, as the system has it`), { code });
  const app = { listen: () => Promise.reject(fault) } as unknown as FastifyInstance;
  await expect(listen(app, loadSettings({ PORT: '80' }))).rejects.toThrow(words);
});

it('a port that is taken is named with its setting, that for operators too', async () => {
  const { app } = await listening();
  const { port } = app.server.address() as AddressInfo;
  for (const [name, other] of [
    ['METRICS_PORT', 'PORT'],
    ['PORT', 'METRICS_PORT'],
  ] as const) {
    const settings = loadSettings({ [name]: String(port), [other]: String(await freePort()) });
    const words = `Cannot listen on 127.0.0.1:${port}: the port is in use; stop what runs there, or set ${name} to another`;
    await expect(assertCanListenOnAll(settings)).rejects.toThrow(words);
  }
  await app.close();
});
