import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerDocs } from '../../../../api/openapi/docs.ts';
import { registerSignIn } from '../../../../api/sign-in/register-sign-in.ts';
import { registerOperatorRoutes } from '../../../../services/wiring/http/operator-routes.ts';
import { type HttpService, requestText, startHttpService } from '../../../support/http-service.ts';
import { signInDeps } from '../../../support/sign-in-service.ts';

/**
 * What is beside the interface on a process's port, and which of it pages of other origins may read
 * (docs/rules.md#cors).
 */

let service: HttpService;
let ready = true;
beforeAll(async () => {
  service = await startHttpService({
    async register(app) {
      registerOperatorRoutes(app, new Registry(), async () =>
        ready ? { ready } : { ready: false, reason: 'nothing is there' },
      );
      registerDocs(app, { openapiUrl: 'https://rides.example/api/openapi.json', oauthClientId: 'docs' });
      await registerSignIn(app, await signInDeps('https://rides.example/api'));
    },
  });
});
afterAll(() => service.close());

const cors = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'ETag, WWW-Authenticate, Retry-After',
};
const ask = (path: string, method = 'GET') =>
  service.exchange(requestText(method, path, { Origin: 'https://elsewhere.example' }));

describe('pages of other origins', () => {
  it.each([
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 200],
    ['/docs', 200],
    ['/docs/oauth2-redirect.html', 200],
    ['/docs/', 308],
    ['/', 302],
  ])('may read %s', async (path, status) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(path, method);
      expect([method, answer.status]).toEqual([method, status]);
      expect(answer.headers).toMatchObject(cors);
    }
  });

  it.each(['/oauth/authorize', '/oauth/connected-apps', '/oauth/sign-out'])(
    'may not read the page %s',
    async (path) => {
      const answer = await ask(path);
      expect(answer.status).not.toBe(404);
      expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    },
  );

  it('may read why a process is not ready', async () => {
    ready = false;
    const answer = await ask('/readyz');
    ready = true;
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([
      503,
      { status: 'not ready', reason: 'nothing is there' },
    ]);
    expect(answer.headers).toMatchObject(cors);
  });

  it.each([
    ['/api/openapi.json'],
    ['/api'],
    ['/api/'],
    ['/api//rides/loop'],
    ['/api/healthz'],
    ['/api/readyz'],
    ['/api/metrics'],
    ['/api/docs'],
    ['/api/oauth/token'],
    ['/api/.well-known/oauth-protected-resource'],
    ['/api/%zz'],
    ['/api/rides/%ff'],
    ['/oauth/jwks'],
  ])('may read whatever is answered at %s', async (path) => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'NONSENSE']) {
      const answer = await ask(path, method);
      expect([method, answer.headers['access-control-allow-origin']]).toEqual([method, '*']);
      expect(answer.headers['access-control-expose-headers']).toBe('ETag, WWW-Authenticate, Retry-After');
    }
  });
});
