import { pino } from 'pino';
import type { SignInDeps } from '../../api/sign-in/register-sign-in.ts';
import { memoryAuthState } from '../../infra/memory/auth-state-memory.ts';
import { newSigningKeys, testCookieKeys, testRiders } from './sign-in-service.ts';

/** Sign-in as the embedded default has it, for an application that is more than sign-in. */
export async function signInDeps(baseUrl: string): Promise<SignInDeps> {
  const store = memoryAuthState();
  return {
    baseUrl,
    store,
    riders: testRiders(),
    keys: await newSigningKeys(),
    cookieKeys: testCookieKeys,
    clients: [],
    registration: true,
    metadataFetch: null,
    who: null,
    logger: pino({ level: 'silent' }),
    proxiesNamed: false,
  };
}
