import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { ViewCache } from '../../../api/calendar/view-cache.ts';
import { createApp } from '../../../api/http/app.ts';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import { registerSignIn, type SignIn, type SignInDeps } from '../../../api/sign-in/register-sign-in.ts';
import { RecentErasures } from '../../../api/tokens/recent-erasures.ts';
import type { SampleRider } from '../../../api/tokens/rider-directory.ts';
import { createTokenChecker } from '../../../api/tokens/token-checker.ts';
import { memoryAuthState } from '../../../infra/memory/auth-state-memory.ts';
import { metadataFetch } from '../../../infra/net/metadata-fetch.ts';
import { redisAuthState } from '../../../infra/redis/auth-state-redis.ts';
import type { Settings } from '../../settings/settings.ts';
import { loadSignInFiles, type SignInFiles } from '../../settings/sign-in-files.ts';
import { auditLog } from '../sign-in/audit-log.ts';
import { eraseGoneRiders } from '../sign-in/erase-gone-riders.ts';
import { riderDirectory } from '../sign-in/rider-directory.ts';
import { type SignInWatch, watchSignIn } from '../sign-in/sign-in-watch.ts';
import type { ApiMetrics } from './api-metrics.ts';
import { stopListening } from './listen.ts';

export interface ServeOptions {
  settings: Settings;
  reader: ViewReader;
  metrics: ApiMetrics;
  log: Logger;
  /** Read beforehand, if something that takes time comes in between. */
  files?: SignInFiles;
  /** Once it aborts, answers are the last of their connections. */
  draining?: AbortSignal;
  /** Anybody at this machine may be one of these riders. If absent, riders prove who they are, or cannot sign in. */
  sampleRiders?(count: number): SampleRider[];
  /** Shown and filled in at /docs. */
  sampleKey?: string;
  /** Inputs that find something, to fill the forms at /docs. */
  sample?: { metro?: string; ride?: string; day?: string };
}

export interface Served {
  app: FastifyInstance;
  signInWatch: SignInWatch;
  close(): Promise<void>;
}

/** The API and the authorization server as one HTTP application, which is not listening yet. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { settings, metrics, log } = options;
  const reader = metrics.measuredReader(options.reader);
  const { keys, cookieKeys, clients } = options.files ?? (await loadSignInFiles(settings));
  const { baseUrl, origin } = settings;

  const cache = new ViewCache(reader);
  metrics.watchCache(cache);
  metrics.watchStore(async () => (await options.reader.ready()).ready);
  const calendarNowMs = (): number => settings.nowMs ?? Date.now();
  const authRedis = settings.authRedis;
  const audit = auditLog(log, metrics.register);
  const store = authRedis
    ? redisAuthState({ ...authRedis, onError: (error) => log.warn(`Sign-in's Redis: ${error.message}`) })
    : memoryAuthState();
  if (authRedis) metrics.watchSignInState(async () => (await store.risk()) !== null);
  const erasures = new RecentErasures({ store });
  let signIn: SignIn | undefined;
  // If this fails, sign-in logs it and retries.
  const riderGone = (rider: string): void => void signIn?.eraseRider(rider).catch(() => undefined);
  const app = createApp({
    baseUrl,
    cache,
    calendarNowMs,
    cacheSeconds: settings.cacheSeconds,
    ...(options.draining && { draining: options.draining }),
    ...(settings.trustProxy !== null && { trustProxy: settings.trustProxy }),
    checker: createTokenChecker({ issuer: origin, audience: baseUrl, keys, erasures, audit }),
    openApi: Buffer.from(JSON.stringify(openApiDocument(baseUrl))),
    riderGone,
    onFault: (cause) => log.error({ err: cause }, 'Cannot answer a request'),
    onAnswer: metrics.answered,
  });
  registerDocs(app, {
    openapiUrl: `${baseUrl}/openapi.json`,
    oauthClientId: 'docs',
    ...(options.sampleKey !== undefined && { sampleKey: options.sampleKey }),
    ...(options.sample && { sample: options.sample }),
  });
  const registered = await registerSignIn(app, {
    baseUrl,
    store,
    erasures,
    riders: riderDirectory(cache, options.sampleRiders ?? (() => [])),
    keys,
    cookieKeys,
    clients,
    registration: settings.oauth.registration,
    metadataFetch: settings.oauth.clientMetadata ? metadataFetch() : null,
    who: whoSignsIn(options),
    logger: log,
    audit,
    proxiesNamed: settings.trustProxy !== null,
  });
  signIn = registered;
  const stopErasing = eraseGoneRiders(cache, registered, erasures, log);
  const closing = new AbortController();
  // In memory nothing can be away.
  const signInWatch = authRedis ? watchSignIn(store, log, closing.signal) : { trouble: () => null };
  if (authRedis) metrics.watchSignInStore(() => signInWatch.trouble() === null);
  return {
    app,
    signInWatch,
    async close() {
      closing.abort();
      stopErasing();
      await stopListening(app);
      await registered.close();
      await reader.close();
    },
  };
}

/** How riders authenticate: at their own provider, by being picked, or not at all. */
function whoSignsIn({ settings, sampleRiders }: ServeOptions): SignInDeps['who'] {
  if (settings.signIn) return { upstream: settings.signIn };
  return sampleRiders ? { pickerAt: settings.host } : null;
}
