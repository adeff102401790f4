import { ViewCache } from '../../../api/calendar/views/view-cache.ts';
import { createApp } from '../../../api/http/app.ts';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import type { SignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { createTokenChecker } from '../../../api/sign-in/tokens/token-checker.ts';
import { type CalendarPageConfig, registerCalendarPage } from '../../calendar-page/register-calendar-page.ts';
import { auditLog } from '../sign-in/audit-log.ts';
import { openSignInState, type ServeSignInOptions, serveSignIn } from '../sign-in/serve-sign-in.ts';

export interface ApplicationOptions extends ServeSignInOptions {
  reader: ViewReader;
  /** Once it aborts, the process is not ready any more, and answers are the last of their connections. */
  signal: AbortSignal;
  /** Serves the calendar page, with what it is told at each visit. */
  calendarPage?: () => CalendarPageConfig;
  /** Shown and filled in at /docs. */
  sampleKey?: string;
  /** Inputs that find something, to fill the forms at /docs. */
  sample?: { metro?: string; ride?: string; day?: string };
}

/** The API, its documentation and sign-in, not listening yet. */
export async function application(options: ApplicationOptions, closing: AbortSignal) {
  const { settings, reader, metrics, log, files, sampleKey, sample, calendarPage } = options;
  const { baseUrl, origin } = settings;
  const cache = new ViewCache(reader, { onRead: metrics.read });
  metrics.measureCache(cache);
  metrics.measureStore(async () => (await reader.ready()).ready);
  if (reader.unledTags) metrics.measureUnledTags(reader.unledTags);
  const audit = auditLog(log, metrics.register);
  const { store, trouble } = openSignInState(options, closing);
  metrics.measureMemory({
    ...(reader.memory && { views: reader.memory }),
    ...(store.memory && { 'sign-in': store.memory }),
  });
  let signIn: SignIn | undefined;
  const app = createApp({
    baseUrl,
    cache,
    // docs/rules.md#clock
    calendarNowMs: () => settings.nowMs ?? Date.now(),
    cacheSeconds: settings.cacheSeconds,
    draining: options.signal,
    ...(settings.trustProxy !== null && { trustProxy: settings.trustProxy }),
    checker: createTokenChecker({ issuer: origin, audience: baseUrl, keys: files.keys, audit }),
    openApi: Buffer.from(JSON.stringify(openApiDocument(baseUrl))),
    riderGone: (rider) => void signIn?.eraseRider(rider),
    onFault: (cause) => log.error({ err: cause }, 'Cannot answer a request'),
    onAnswer: metrics.answered,
  });
  registerDocs(app, {
    baseUrl,
    ...(calendarPage && { home: 'calendar' }),
    ...(sampleKey !== undefined && { sampleKey }),
    ...(sample && { sample }),
  });
  if (calendarPage) registerCalendarPage(app, calendarPage);
  const registered = await serveSignIn(app, cache, store, audit, options);
  signIn = registered;
  return {
    app,
    /** Why nobody can sign in just now. Null: riders can. */
    signInTrouble: trouble,
    /** Closes what the application used, once it answers no more. */
    async close() {
      await registered.close();
      await reader.close();
    },
  };
}
