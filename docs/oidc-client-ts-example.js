// Sign-in with oidc-client-ts, in a page: docs/tutorial-rider-app.md#recipes.
import { UserManager } from 'oidc-client-ts';

export const manager = new UserManager({
  authority: 'http://127.0.0.1:8080',
  metadataUrl: 'http://127.0.0.1:8080/.well-known/oauth-authorization-server',
  client_id: 'my-app',
  redirect_uri: 'http://127.0.0.1:9999/signed-in',
  post_logout_redirect_uri: 'http://127.0.0.1:9999/',
  scope: 'read',
  automaticSilentRenew: true,
});
