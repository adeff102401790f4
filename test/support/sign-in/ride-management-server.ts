import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

// The ride-management system's OpenID Connect provider, as a process of its own. Whatever login is typed in is the
// `sub`. Settings come as JSON in the one argument; it says where it listens once it does.
const { port, clientId, clientSecret, redirectUri, authMethod, alg } = JSON.parse(process.argv[2]!) as Record<
  string,
  string
>;

const pair =
  alg === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = { ...pair.privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: 'upstream' };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: clientId!,
      client_secret: clientSecret!,
      redirect_uris: [redirectUri!],
      token_endpoint_auth_method: authMethod as 'client_secret_basic',
      id_token_signed_response_alg: alg as 'RS256',
    },
  ],
  clientAuthMethods: [authMethod as 'client_secret_basic'],
  clientDefaults: { id_token_signed_response_alg: alg as 'RS256' },
  jwks: { keys: [jwk as never] },
  pkce: { required: () => true },
  cookies: { keys: ['upstream'] },
});
const server = provider.listen(Number(port), '127.0.0.1', () => process.stdout.write('listening\n'));
process.on('SIGTERM', () => server.close());
