import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import { freePorts } from '../../../infra/local/free-port.ts';
import { closing } from '../processes/closing.ts';
import { TestBrowser } from './test-browser.ts';

export type RideManagement = Awaited<ReturnType<typeof startRideManagement>>;

/** Answers a request in place of the provider. */
export type Fault = (response: ServerResponse) => void;

/** Starts the ride-management system's OpenID Connect provider. Whatever login is typed in is the `sub`. */
export async function startRideManagement(
  redirectUri: string | string[],
  alg: 'RS256' | 'ES256' = 'RS256',
  authMethod: 'client_secret_basic' | 'client_secret_post' = 'client_secret_basic',
) {
  const [port] = await freePorts(1);
  const issuer = `http://127.0.0.1:${port}`;
  const client = { clientId: 'ride-calendar', clientSecret: 'a-secret-that-only-the-two-know-of' };
  const newHandler = () => {
    const pair =
      alg === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 });
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: client.clientId,
          client_secret: client.clientSecret,
          redirect_uris: [redirectUri].flat(),
          token_endpoint_auth_method: authMethod,
          id_token_signed_response_alg: alg,
        },
      ],
      clientAuthMethods: [authMethod],
      jwks: { keys: [{ ...pair.privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: randomUUID() }] },
      pkce: { required: () => true },
      cookies: { keys: ['upstream'] },
    });
    return provider.callback();
  };
  let handler = newHandler();
  let server: Server;
  /** By path: what fails, until it is taken away. */
  const faults: Partial<Record<'/.well-known/openid-configuration' | '/token' | '/jwks', Fault>> = {};

  const start = async (): Promise<void> => {
    server = createServer((request, response) => {
      const fault = faults[request.url!.split('?')[0] as keyof typeof faults];
      return fault ? fault(response) : handler(request, response);
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
  };

  /** Signs in at the provider's own pages with a login, which is the `sub`; the address the browser is sent back to. */
  const signIn = async (url: string, login: string): Promise<string> => {
    const browser = new TestBrowser(issuer);
    let at = await browser.open(url);
    for (let pages = 0; pages < 4 && at.page !== ''; pages++) {
      const action = new URL(/<form[^>]+action="([^"]+)"/.exec(at.page)![1]!, at.url).href;
      const isLogin = at.page.includes('name="login"');
      at = await browser.submit(action, isLogin ? { prompt: 'login', login, password: 'any' } : { prompt: 'consent' });
    }
    return at.url;
  };
  /** From now on another key signs, and the old one is gone. */
  const rotateKey = (): void => {
    handler = newHandler();
  };

  await start();
  closing(stop);
  return { issuer, ...client, faults, signIn, rotateKey, stop, start };
}
