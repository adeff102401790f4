import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { createApp } from '../../../api/http/app.ts';
import { serviceUrl } from '../../../api/messages/service-url.ts';
import { type AuditTrail, noAudit } from '../../../api/ports/audit-trail.ts';
import type { RiderDirectory, SampleRider } from '../../../api/ports/rider-directory.ts';
import { StoreAwayError, type ViewReader } from '../../../api/ports/view-reader.ts';
import { registerSignIn, type SignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import type { SignInDeps } from '../../../api/sign-in/routes/sign-in-parts.ts';
import type { SigningKeys } from '../../../api/sign-in/tokens/signing-keys.ts';
import { createTokenChecker } from '../../../api/sign-in/tokens/token-checker.ts';
import { freePorts } from '../../../infra/local/free-port.ts';
import { memorySignInState } from '../../../infra/memory/memory-sign-in-state.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import { filesOfThisProcess } from '../../../services/settings/sign-in-files.ts';
import { closing } from '../processes/closing.ts';
import { flowAt } from './sign-in-flow.ts';

const testCookieKeys = ['a cookie key for tests, 32 characters and more'];

export const newSigningKeys = async (): Promise<SigningKeys> => (await filesOfThisProcess()).keys;

/** Riders who exist; the test may erase some, or make it unknown who exists. */
interface TestRiders extends RiderDirectory {
  erase(rider: string): void;
  /** Publishes one again, or anew. */
  publish(rider: string): void;
  away: boolean;
}

/** Those of the sample, and more by their ids. */
export function testRiders(more: string[] = []): TestRiders {
  const living = new Map(sampleRiders.map((rider) => [rider.rider, rider]));
  const publish = (rider: string) => living.set(rider, { rider, handle: rider, name: null, sees: 'nobody' });
  more.forEach(publish);
  const directory: TestRiders = {
    away: false,
    erase: (rider) => living.delete(rider),
    publish,
    async card(rider) {
      if (directory.away) throw new StoreAwayError('the views are away');
      const found = living.get(rider);
      return found ? { handle: found.handle, name: found.name } : null;
    },
    sample: async (count) => [...living.values()].slice(0, count),
  };
  return directory;
}

const sampleRiders: SampleRider[] = [
  { rider: 'rider-ada', handle: 'ada', name: 'Ada Lovelace', sees: 'follows 2' },
  { rider: 'rider-bo', handle: 'bo', name: null, sees: 'follows 2' },
  { rider: 'rider-cy', handle: 'cy', name: 'Cyrus <b>& "Co"</b>', sees: 'follows 2' },
];

/** A view reader that knows riders' cards, and nothing else. */
function cardsOf(riders: TestRiders): ViewReader {
  const read = async (key: string): Promise<Buffer | null> => {
    const { kind, id } = parseKey(key);
    const isThere = kind === 'rider' ? (await riders.card(id)) !== null : kind === 'complete';
    return isThere ? Buffer.from('a card') : null;
  };
  return {
    async get(keys) {
      if (riders.away) throw new StoreAwayError('the views are away');
      return await Promise.all(keys.map(read));
    },
    fields: async (_key, fields) => fields.map(() => null),
    // Nothing is said to be heard, so nothing is kept.
    listen: () => {},
    ready: async () => ({ ready: true }),
    close: async () => {},
  };
}

export type TestService = Awaited<ReturnType<typeof startSignInService>>;

type TestServiceOptions = Partial<SignInDeps> & {
  riders?: TestRiders;
  port?: number;
  trustProxy?: readonly string[];
};

/** Sign-in as the embedded default has it, for an application that is more than sign-in. */
export async function signInDeps(baseUrl: string): Promise<SignInDeps> {
  return {
    baseUrl,
    // Time passes by the clock that a test may set.
    store: memorySignInState({ ...realClock, nowMs: () => Date.now() }),
    riders: testRiders(),
    keys: await newSigningKeys(),
    cookieKeys: testCookieKeys,
    clients: [],
    registration: true,
    metadataFetch: null,
    audit: noAudit,
    who: null,
    logger: pino({ level: 'silent' }),
    proxiesNamed: false,
  };
}

/** Sign-in in the application as it is, over views that know which riders exist. */
export async function startSignInService(options: TestServiceOptions = {}) {
  const { port = (await freePorts(1))[0]!, trustProxy, ...given } = options;
  const log: string[] = [];
  const told: Parameters<AuditTrail>[] = [];
  const deps: SignInDeps = {
    ...(await signInDeps(`http://127.0.0.1:${port}/api`)),
    who: { pickerAt: '127.0.0.1' },
    audit: (...event) => void told.push(event),
    logger: pino({ level: 'debug' }, { write: (line: string) => void log.push(line) }),
    proxiesNamed: trustProxy !== undefined,
    ...given,
  };
  const riders = deps.riders as TestRiders;
  const { origin, resource } = serviceUrl(deps.baseUrl);
  const reader = cardsOf(riders);
  const app = createApp({
    cache: new ViewCache(reader),
    calendarNowMs: Date.now,
    baseUrl: resource,
    cacheSeconds: 0,
    ...(trustProxy !== undefined && { trustProxy }),
    checker: createTokenChecker({ issuer: origin, audience: resource, keys: deps.keys, audit: deps.audit }),
    openApi: Buffer.from('{}'),
    riderGone: (rider) => void signIn.eraseRider(rider),
    onFault: (cause) => log.push(String(cause)),
  });
  const signIn: SignIn = await registerSignIn(app, deps);
  await app.listen({ port, host: '127.0.0.1' });
  return {
    origin,
    ...flowAt(origin),
    baseUrl: resource,
    signIn,
    riders,
    store: deps.store,
    keys: deps.keys,
    /** What the audit trail was told (docs/audit-trail.md). */
    told,
    /** Lines of the log, as JSON. */
    log,
    app,
    close: closing(async () => {
      await app.close();
      await signIn.close();
      // Until fetch has noticed that its kept connections are closed, for the next service on this port.
      await sleep(20);
    }),
  };
}
