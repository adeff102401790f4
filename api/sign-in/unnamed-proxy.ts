import type { FastifyBaseLogger, FastifyInstance } from 'fastify';

/**
 * Says once that requests come through a proxy that TRUST_PROXY does not name: its riders share one address's limits.
 * For services that are called by https, since only behind a proxy this one is.
 */
export function warnOfUnnamedProxy(app: FastifyInstance, log: FastifyBaseLogger): void {
  let told = false;
  app.addHook('onRequest', (request, _reply, done) => {
    if (!told && request.headers['x-forwarded-for'] !== undefined) {
      told = true;
      log.warn(
        'Requests come with X-Forwarded-For, but TRUST_PROXY is not set: sign-in’s limits take all riders behind the proxy for one, so one of them can keep the others from signing in; set TRUST_PROXY to the proxy’s addresses',
      );
    }
    done();
  });
}
