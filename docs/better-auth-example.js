// Sign-in with better-auth, on a server: docs/tutorial-rider-app.md#recipes. A plugin of betterAuth().
import { genericOAuth } from 'better-auth/plugins';
import { decodeJwt } from 'jose';

export const rides = genericOAuth({
  config: [
    {
      providerId: 'rides',
      discoveryUrl: 'http://127.0.0.1:8080/.well-known/oauth-authorization-server',
      clientId: 'my-app',
      scopes: ['read'],
      async getUserInfo({ accessToken }) {
        const { sub } = decodeJwt(accessToken);
        return { id: sub, name: sub, email: `${sub}@riders.invalid`, emailVerified: false };
      },
    },
  ],
});
