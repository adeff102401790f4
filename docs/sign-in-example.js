// A rider's app in fifty lines, on openid-client: it knows one address, the interface's base path, and finds the rest
// out from there. With the service running: node docs/sign-in-example.js [base URL]
import { createServer } from 'node:http';
import * as oauth from 'openid-client';

const baseUrl = process.argv[2] ?? 'http://127.0.0.1:8080/api';

// 1. A request without a token says where the resource describes itself; that names its authorization server.
const refused = await fetch(`${baseUrl}/me/nights`);
const described = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate'))[1];
const resource = await (await fetch(described)).json();

// 2. An address for the answer, and a client to ask with. An app with a fixed client_id uses oauth.discovery instead.
const listener = createServer().listen(0, '127.0.0.1');
await new Promise((resolve) => listener.once('listening', resolve));
const callback = `http://127.0.0.1:${listener.address().port}/callback`;
const config = await oauth.dynamicClientRegistration(
  new URL(resource.authorization_servers[0]),
  {
    client_name: 'Sign-in example',
    redirect_uris: [callback],
    post_logout_redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
  },
  oauth.None(),
  // Plain http is for this machine only.
  { algorithm: 'oauth2', execute: baseUrl.startsWith('http:') ? [oauth.allowInsecureRequests] : [] },
);

// 3. The rider signs in and agrees, in their browser.
const verifier = oauth.randomPKCECodeVerifier();
const state = oauth.randomState();
const url = oauth.buildAuthorizationUrl(config, {
  redirect_uri: callback,
  scope: 'read',
  resource: resource.resource,
  state,
  // Asks who it is, whoever is signed in: for a computer that several people use.
  prompt: 'login',
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
});
console.log(`Open in a browser:\n${url.href}\n`);
const answer = await new Promise((resolve) => {
  listener.on('request', (request, response) => {
    response.end('Done. Go back to the terminal.');
    if (request.url.startsWith('/callback')) resolve(new URL(request.url, callback));
  });
});
listener.close();

// 4. The code becomes tokens, and the token reads. Refresh before `expires_in` is over, and keep the new refresh token.
let tokens = await oauth.authorizationCodeGrant(config, answer, { pkceCodeVerifier: verifier, expectedState: state });
tokens = await oauth.refreshTokenGrant(config, tokens.refresh_token);
const nights = await oauth.fetchProtectedResource(config, tokens.access_token, new URL(`${baseUrl}/me/nights`), 'GET');
console.log(JSON.stringify(await nights.json(), null, 2));

// 5. Signing out: end the app's connection, then have the browser end its session.
await oauth.tokenRevocation(config, tokens.refresh_token);
const signOut = oauth.buildEndSessionUrl(config, { post_logout_redirect_uri: callback });
console.log(`\nTo sign out of the browser too, open:\n${signOut.href}`);
