import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyInstance } from 'fastify';

const addresses = new AsyncLocalStorage<string>();

/** Keeps the address of a request for whatever is done on its behalf, in the library too. */
export function rememberWhoAsks(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => addresses.run(request.ip, done));
}

/** The address of the request that is being answered, as far as proxies are believed; undefined outside of any. */
export const whoAsks = (): string | undefined => addresses.getStore();
