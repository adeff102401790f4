import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { createApp } from '../../../api/http/app.ts';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import type { SampleRider } from '../../../api/ports/rider-directory.ts';
import type { StateStore } from '../../../api/ports/sign-in-state.ts';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import { noSuchPage } from '../../../api/sign-in/pages/page-sender.ts';
import { registerSignIn, type SignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import type { SignInDeps } from '../../../api/sign-in/routes/sign-in-parts.ts';
import { createTokenChecker } from '../../../api/sign-in/tokens/token-checker.ts';
import { memorySignInState } from '../../../infra/memory/memory-sign-in-state.ts';
import { httpsMetadataFetch } from '../../../infra/net/https-metadata-fetch.ts';
import { redisSignInState } from '../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { completeKeyOf } from '../../../schemas/views/view-keys.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import type { Settings } from '../../settings/settings.ts';
import type { SignInFiles } from '../../settings/sign-in-files.ts';
import type { ApiMetrics } from '../metrics/api-metrics.ts';
import { auditLog } from '../sign-in/audit-log.ts';
import { probeSignIn } from '../sign-in/sign-in-probe.ts';
import { riderDirectory } from '../sign-in/views-rider-directory.ts';
import { listen, operatorsAt, stopListening } from './listen.ts';
import { operatorApp, registerOperatorRoutes } from './operator-routes.ts';
import { apiReadiness, drain, logReadiness, readyOrAwhile, type Trouble, untilStopped } from './readiness.ts';

interface ServeOptions {
  settings: Settings;
  reader: ViewReader;
  metrics: ApiMetrics;
  log: Logger;
  files: SignInFiles;
  /** Once it aborts, the process is not ready any more, and answers are the last of their connections. */
  signal: AbortSignal;
  /** Why a part of the process beside the API does not do its work. */
  trouble?: Trouble;
  /** Anybody at this machine may be one of these riders. If absent, riders prove who they are, or cannot sign in. */
  sampleRiders?(count: number): SampleRider[];
  /** Shown and filled in at /docs. */
  sampleKey?: string;
  /** Inputs that find something, to fill the forms at /docs. */
  sample?: { metro?: string; ride?: string; day?: string };
}

interface Served {
  app: FastifyInstance;
  /** Listens, on METRICS_PORT too if that is set. */
  listen(): Promise<void>;
  /** Ends connections, after DRAIN_SECONDS if the process was told to stop. */
  close(): Promise<void>;
}

/** The API, the authorization server and the operators' routes as one HTTP application, which is not listening yet. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { settings, log, signal } = options;
  const closing = new AbortController();
  const { app, signInTrouble, close } = await application(options, closing.signal);
  const operators = operatorsBeside(app, options, signInTrouble);
  return {
    app,
    async listen() {
      await readyOrAwhile(options.reader, signal);
      await listen(app, settings);
      // Not before: its /readyz says that requests may come.
      await operators?.listen();
      void logReadiness(options.reader, log, AbortSignal.any([closing.signal, signal]));
    },
    async close() {
      if (signal.aborted) await drain(settings, log);
      closing.abort();
      await close();
      await operators?.close();
    },
  };
}

/** The API, its documentation and sign-in. */
async function application(options: ServeOptions, closing: AbortSignal) {
  const { settings, metrics, log } = options;
  const { keys, cookieKeys, clients } = options.files;
  const { baseUrl, origin } = settings;

  const cache = new ViewCache(options.reader, { onRead: metrics.read });
  metrics.measureCache(cache);
  metrics.measureStore(async () => (await options.reader.ready()).ready);
  const audit = auditLog(log, metrics.register);
  const { store, trouble } = openSignInState(options, closing);
  let signIn: SignIn | undefined;
  const riderGone = (rider: string): void => void signIn?.eraseRider(rider);
  const app = createApp({
    baseUrl,
    cache,
    calendarNowMs: () => settings.nowMs ?? Date.now(),
    cacheSeconds: settings.cacheSeconds,
    draining: options.signal,
    ...(settings.trustProxy !== null && { trustProxy: settings.trustProxy }),
    checker: createTokenChecker({ issuer: origin, audience: baseUrl, keys, audit }),
    openApi: Buffer.from(JSON.stringify(openApiDocument(baseUrl))),
    riderGone,
    noSuchPath: noSuchPage(origin.startsWith('https:')),
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
    riders: riderDirectory(cache, options.sampleRiders ?? (() => [])),
    keys,
    cookieKeys,
    clients,
    registration: settings.oauth.registration,
    metadataFetch: settings.oauth.clientMetadata ? httpsMetadataFetch() : null,
    who: whoSignsIn(options),
    logger: log,
    audit,
    proxiesNamed: settings.trustProxy !== null,
  });
  signIn = registered;
  eraseGoneRiders(cache, registered);
  return {
    app,
    signInTrouble: trouble,
    async close() {
      await stopListening(app);
      await registered.close();
      await options.reader.close();
    },
  };
}

/** Destroys the grants and sessions of riders when their erasure shows in the views, or may have been missed. */
function eraseGoneRiders(cache: ViewCache, signIn: SignIn): void {
  const eraseIfGone = async (key: string, rider: string): Promise<void> => {
    const [card, complete] = await cache.load([key, completeKeyOf(key)]);
    if (!card!.isThere && complete!.isThere) await signIn.eraseRider(rider);
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

/** Where grants and sessions are, and why nobody can sign in just now. */
function openSignInState(
  { settings: { authRedis }, metrics, log }: ServeOptions,
  closing: AbortSignal,
): { store: StateStore; trouble: Trouble } {
  // In memory nothing can be away.
  if (!authRedis) return { store: memorySignInState(), trouble: () => null };
  const store = redisSignInState({ ...authRedis, onError: (error) => log.warn(`Sign-in's Redis: ${error.message}`) });
  metrics.measureSignInState(async () => (await store.risk()) !== null);
  const probe = probeSignIn(store, log, closing);
  metrics.measureSignInStore(() => probe.trouble() === null);
  const trouble = (): string | null => {
    const found = probe.trouble();
    return found && `nobody can sign in or refresh: ${found}`;
  };
  return { store, trouble };
}

/** Registers the operators' routes with the application. With METRICS_PORT, returns a server of their own instead. */
function operatorsBeside(app: FastifyInstance, options: ServeOptions, signInTrouble: Trouble) {
  const { settings, reader, metrics, log, signal, trouble = () => null } = options;
  const readiness = untilStopped(apiReadiness(reader, trouble, signInTrouble), signal);
  const at = operatorsAt(settings);
  if (at === null) {
    registerOperatorRoutes(app, metrics.register, readiness);
    return null;
  }
  const own = operatorApp(metrics.register, readiness, log);
  return { listen: () => listen(own, at), close: () => stopListening(own) };
}

/** How riders authenticate: at their own provider, by being picked, or not at all. */
function whoSignsIn({ settings, sampleRiders }: ServeOptions): SignInDeps['who'] {
  if (settings.signIn) return { upstream: settings.signIn };
  return sampleRiders ? { pickerAt: settings.host } : null;
}
