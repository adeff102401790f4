import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { registerSignIn, type SignIn, type SignInDeps } from '../../api/sign-in/register-sign-in.ts';
import type { RiderDirectory, SampleRider } from '../../api/sign-in/rider-directory.ts';
import { parseSigningKeys, type SigningKeys } from '../../api/sign-in/signing-keys.ts';
import { wwwAuthenticate } from '../../api/sign-in/www-authenticate.ts';
import { memoryAuthState } from '../../infra/auth-state-memory.ts';
import { freePorts } from '../../infra/local/free-port.ts';

export const testCookieKeys = ['a cookie key for tests, 32 characters and more'];

export async function newSigningKeys(): Promise<SigningKeys> {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  return await parseSigningKeys(JSON.stringify({ keys: [jwk] }), 'test keys');
}

/** Riders who exist; the test may erase some, or make it unknown who exists. */
export interface TestRiders extends RiderDirectory {
  erase(rider: string): void;
  away: boolean;
}

export function testRiders(riders: SampleRider[] = sampleRiders): TestRiders {
  const living = new Map(riders.map((rider) => [rider.rider, rider]));
  const directory: TestRiders = {
    away: false,
    erase: (rider) => living.delete(rider),
    async exists(rider) {
      if (directory.away) throw new Error('the views are away');
      return living.has(rider);
    },
    async card(rider) {
      if (directory.away) throw new Error('the views are away');
      const found = living.get(rider);
      return found ? { handle: found.handle, name: found.name } : null;
    },
    sample: async (count) => [...living.values()].slice(0, count),
  };
  return directory;
}

export const sampleRiders: SampleRider[] = [
  { rider: 'rider-ada', handle: 'ada', name: 'Ada Lovelace' },
  { rider: 'rider-bo', handle: 'bo', name: null },
  { rider: 'rider-cy', handle: 'cy', name: 'Cyrus <b>& "Co"</b>' },
];

export interface TestService {
  origin: string;
  baseUrl: string;
  signIn: SignIn;
  riders: TestRiders;
  keys: SigningKeys;
  /** Lines of the log, as JSON. */
  log: string[];
  app: FastifyInstance;
  close(): Promise<void>;
}

export type TestServiceOptions = Partial<SignInDeps> & {
  riders?: TestRiders;
  port?: number;
  /** Where Fastify listens. */
  host?: string;
};

/** Sign-in in a service of its own, with one resource behind it: `/api/me/nights` says whose token it was. */
export async function startSignInService(options: TestServiceOptions = {}): Promise<TestService> {
  const { port = (await freePorts(1))[0]!, host = '127.0.0.1', ...given } = options;
  const log: string[] = [];
  const deps: SignInDeps = {
    baseUrl: `http://127.0.0.1:${port}/api`,
    store: given.store ?? memoryAuthState(),
    keys: given.keys ?? (await newSigningKeys()),
    cookieKeys: testCookieKeys,
    clients: [],
    registration: true,
    metadataFetch: null,
    who: { pickerAt: '127.0.0.1' },
    logger: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
    ...given,
    riders: given.riders ?? testRiders(),
  };
  const riders = deps.riders as TestRiders;
  const app = Fastify();
  const signIn = await registerSignIn(app, deps);
  const { baseUrl } = deps;
  app.get('/api/me/nights', async (request, reply) => {
    const token = /^bearer +(.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const subject = token === undefined ? null : await signIn.checker.check(token);
    if (subject && (await riders.exists(subject.rider))) return { rider: subject.rider };
    return reply
      .code(401)
      .header('www-authenticate', wwwAuthenticate(baseUrl, token !== undefined))
      .send();
  });
  await app.listen({ port, host });
  return {
    origin: new URL(baseUrl).origin,
    baseUrl,
    signIn,
    riders,
    keys: deps.keys,
    log,
    app,
    async close() {
      await app.close();
      await signIn.close();
      // Until fetch has noticed that its kept connections are closed, for the next service on this port.
      await sleep(20);
    },
  };
}
