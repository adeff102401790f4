import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import type { AuditTrail } from '../../../api/ports/audit-trail.ts';
import type { SampleRider } from '../../../api/ports/rider-directory.ts';
import type { StateStore } from '../../../api/ports/sign-in-state.ts';
import { registerSignIn, type SignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import type { SignInDeps } from '../../../api/sign-in/routes/sign-in-parts.ts';
import { memorySignInState } from '../../../infra/memory/memory-sign-in-state.ts';
import { noteFetched } from '../../../infra/net/certificate-ends.ts';
import { httpsMetadataFetch } from '../../../infra/net/https-metadata-fetch.ts';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import type { Settings } from '../../settings/settings.ts';
import type { SignInFiles } from '../../settings/sign-in-files.ts';
import type { ApiMetrics } from '../metrics/api-metrics.ts';
import { probeSignIn } from './sign-in-probe.ts';
import { riderDirectory } from './views-rider-directory.ts';

export interface ServeSignInOptions {
  settings: Settings;
  metrics: ApiMetrics;
  log: Logger;
  files: SignInFiles;
  /** Anybody at this machine may be one of these riders. If absent, riders prove who they are, or cannot sign in. */
  sampleRiders?(count: number): SampleRider[];
}

/** Opens the store of grants and sessions (docs/rules.md#sign-in-state). `trouble` says why nobody can sign in just now. Null: riders can. */
export function openSignInState(
  { settings: { authRedis }, metrics, log }: ServeSignInOptions,
  closing: AbortSignal,
): { store: StateStore; trouble(): string | null } {
  // In memory nothing can be away.
  if (!authRedis) return { store: memorySignInState(), trouble: () => null };
  const store = redisSignInState({ ...authRedis, onError: (error) => log.warn(`Sign-in's Redis: ${error.message}`) });
  metrics.measureSignInState(async () => (await store.risk()) !== null);
  const found = probeSignIn(store, log, closing);
  metrics.measureSignInStore(() => found() === null);
  const trouble = (): string | null => {
    const why = found();
    return why && `nobody can sign in or refresh: ${why}`;
  };
  return { store, trouble };
}

/** Registers sign-in with an application, and has it follow what the views say of erased riders. */
export async function serveSignIn(
  app: FastifyInstance,
  cache: ViewCache,
  store: StateStore,
  audit: AuditTrail,
  options: ServeSignInOptions,
): Promise<SignIn> {
  const { settings, log, files } = options;
  const signIn = await registerSignIn(app, {
    baseUrl: settings.baseUrl,
    store,
    riders: riderDirectory(cache, options.sampleRiders ?? (() => [])),
    ...files,
    registration: settings.oauth.registration,
    metadataFetch: settings.oauth.clientMetadata ? httpsMetadataFetch() : null,
    who: whoSignsIn(options),
    logger: log,
    audit,
    proxiesNamed: settings.trustProxy !== null,
  });
  eraseGoneRiders(cache, signIn);
  return signIn;
}

/** How riders authenticate: their provider (docs/rules.md#identity), being picked (#picking-a-rider), or not at all. */
function whoSignsIn({ settings, sampleRiders }: ServeSignInOptions): SignInDeps['who'] {
  if (settings.signIn) {
    noteFetched('SIGN_IN_ISSUER', settings.signIn.issuer);
    return { upstream: settings.signIn };
  }
  return sampleRiders ? { pickerAt: settings.host } : null;
}

/** Ends the grants and sessions of riders whose erasure shows in the views, or may have been missed (docs/rules.md#ended-tokens). */
export function eraseGoneRiders(cache: ViewCache, signIn: Pick<SignIn, 'eraseRider' | 'sweepSoon'>): void {
  const eraseIfGone = async (key: string, rider: string): Promise<void> => {
    const [card] = await cache.load([key]);
    if (card!.value === null) await signIn.eraseRider(rider);
  };
  cache.onChange({
    changed(key) {
      const { kind, id } = parseKey(key);
      if (kind === 'rider') eraseIfGone(key, id).catch(signIn.sweepSoon);
    },
    allChanged: signIn.sweepSoon,
  });
  signIn.sweepSoon();
}
