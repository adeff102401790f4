import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { idPattern } from '../../../schemas/events/patterns.ts';
import type { AuditTrail } from '../../ports/audit-trail.ts';
import { clientAddress } from '../limits/client-address.ts';
import { lineLimit } from '../limits/line-limit.ts';
import { type Trouble, troubles } from '../pages/error-page.ts';
import { lifetimes } from '../provider/lifetimes.ts';
import { isAway } from '../provider/provider.ts';
import { storeId } from '../provider/sealed-store.ts';
import { paths } from '../tokens/metadata.ts';
import { failureLog } from './faults.ts';
import { finishLogin } from './interactions.ts';
import { ownCookie, signedOutCookie } from './own-cookies.ts';
import type { SignInParts } from './sign-in-parts.ts';
import {
  newAttempt,
  type UpstreamAttempt,
  UpstreamAwayError,
  UpstreamRefusedError,
  type UpstreamSignIn,
} from './upstream-sign-in.ts';

const kind = 'UpstreamAttempt';

interface KeptAttempt extends UpstreamAttempt {
  interaction: string;
  /** Hash of the cookie of the browser that began. */
  browser: string;
  [more: string]: unknown;
}

/**
 * To the upstream provider and back (docs/rules.md#identity). The provider sends every browser to one callback address,
 * to which an interaction's cookie is not sent. So each attempt is kept in the store by its `state`, for one use, and a
 * cookie of our own says which browser began it.
 */
export function addUpstreamRoutes(app: FastifyInstance, parts: SignInParts, upstream: UpstreamSignIn): void {
  const { service, provider, riders, store, pages, limits, audit, logger } = parts;
  const upstreamTrouble = upstreamTroubles(logger, audit);
  const logFailure = failureLog(logger);
  const browserCookie = ownCookie(service, 'browser', '[A-Za-z0-9_-]{43}');
  const signedOut = signedOutCookie(service);

  app.get<{ Params: { uid: string }; Querystring: { other?: string } }>(
    `${paths.signIn}/:uid/start`,
    async (request, reply) => {
      const interaction = await provider.interaction(request, reply, request.params.uid);
      if (interaction?.prompt.name !== 'login') return pages.trouble(reply, 'expired');
      // Each attempt is kept as long as an interaction, so strangers could fill the store.
      const wait = await limits.authorize(clientAddress()!);
      if (wait !== null) return pages.trouble(reply, 'busy', wait);
      const attempt = newAttempt();
      const browser = browserCookie.of(request) ?? randomBytes(32).toString('base64url');
      const isWanted = request.query.other !== undefined || interaction.prompt.reasons.includes('login_prompt');
      const newSignIn = isWanted || signedOut.of(request) !== undefined;
      const url = await upstream.begin(attempt, { newSignIn }).catch(upstreamTrouble);
      if (!(url instanceof URL)) return pages.trouble(reply, url);
      const kept: KeptAttempt = { ...attempt, interaction: interaction.uid, browser: hash('sha256', browser) };
      await store.put(kind, storeId(kind, attempt.state), kept, { lifeSeconds: lifetimes.interaction });
      browserCookie.set(reply, browser, lifetimes.interaction);
      return reply.header('Cache-Control', 'no-store').redirect(url.href, 303);
    },
  );

  app.get(paths.callback, async (request, reply) => {
    const callback = new URL(service.origin + paths.callback);
    callback.search = request.raw.url!.split('?').slice(1).join('?');
    const state = callback.searchParams.get('state') ?? '';
    const kept = (await store.take(kind, storeId(kind, state))) as KeptAttempt | null;
    if (!kept) return pages.trouble(reply, 'expired');
    const browser = browserCookie.of(request);
    if (!browser || !timingSafeEqual(Buffer.from(hash('sha256', browser)), Buffer.from(kept.browser))) {
      audit('sign_in_refused', { cause: 'other_browser' });
      return pages.trouble(reply, 'expired');
    }
    const interaction = await provider.interactionOf(kept.interaction);
    if (!interaction) return pages.trouble(reply, 'expired');
    const again = `${paths.signIn}/${interaction.uid}`;
    try {
      const rider = await upstream.finish(callback, kept);
      if (idPattern.test(rider) && (await riders.card(rider)))
        return reply.redirect(await finishLogin(parts, interaction, rider, request, reply), 303);
      audit('sign_in_refused', { cause: 'unknown_rider' });
      const next = { to: `${again}/start?other=1`, words: 'Use another account' };
      return pages.trouble(reply, { ...troubles.noRider, next });
    } catch (error) {
      // The attempt is used up. The interaction is not, so the rider can try again.
      const trouble = isAway(error) ? troubles.away : upstreamTrouble(error);
      if (trouble === troubles.away) logFailure(error, paths.callback);
      return pages.trouble(reply, { ...trouble, next: { to: again, words: 'Try again' } });
    }
  });
}

/** What a fault of the upstream provider is answered with. Throws any other fault. */
function upstreamTroubles(log: FastifyBaseLogger, audit: AuditTrail): (error: unknown) => Trouble {
  const isWorthALine = lineLimit();
  return (error) => {
    if (error instanceof UpstreamAwayError) {
      audit('sign_in_refused', { cause: 'upstream_unavailable' });
      if (isWorthALine(error.name)) log.error({ err: error }, 'the riders’ sign-in can’t be reached');
      return troubles.upstreamAway;
    }
    if (error instanceof UpstreamRefusedError) {
      audit('sign_in_refused', { cause: 'provider' });
      if (isWorthALine(error.name)) log.warn(error.message);
      return troubles.upstreamRefused;
    }
    throw error;
  };
}
