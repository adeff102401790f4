import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance } from 'fastify';

const addresses = new AsyncLocalStorage<string>();

/** Makes a request's client address available to everything that is done on its behalf, also inside the library. */
export function keepClientAddress(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => addresses.run(request.ip, done));
}

/**
 * The client address of the request that is being answered, as far as proxies are trusted. Undefined outside of any
 * request.
 */
export const clientAddress = (): string | undefined => addresses.getStore();
