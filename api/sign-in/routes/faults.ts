import type { FastifyInstance, FastifyReply } from 'fastify';
import { corsHeaders } from '../../messages/answer.ts';
import { providerTrouble, troubles } from '../pages/error-page.ts';
import { isAway } from '../provider/provider.ts';
import { paths } from '../tokens/metadata.ts';
import { isBodyError } from './request-body.ts';
import type { SignInParts } from './sign-in-parts.ts';

/** Headers of an answer to a program. */
export const noStore = { ...corsHeaders, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Answers what the routes throw: as JSON (RFC 6749) at endpoints for programs, as a page elsewhere. */
export function answerFaults(app: FastifyInstance, { pages, logger }: Pick<SignInParts, 'pages' | 'logger'>): void {
  app.setErrorHandler((error, request, reply) => {
    // Only the path: queries contain codes.
    const path = request.raw.url!.split('?')[0]!;
    if (isBodyError(error)) {
      const status = error.statusCode!;
      if (isForPrograms(request.routeOptions.url ?? path)) return refuseRequest(reply, status, error.message);
      return pages.trouble(reply.header('Connection', 'close'), { ...troubles.unreadable, status });
    }
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    const away = isAway(error);
    const refused = status < 500;
    if (refused) logger.debug({ path, reason: (error as Error).message }, 'request refused');
    else logger.error({ err: error, path }, 'sign-in failed');
    if (isForPrograms(path)) return refused ? refuseRequest(reply, status) : sendFault(reply, away);
    if (away) return pages.trouble(reply, 'away');
    return pages.trouble(reply, providerTrouble(refused ? 'invalid_request' : 'server_error', status));
  });
}

/** Whether errors at a path are for programs, as JSON. */
function isForPrograms(path: string): boolean {
  return path === paths.token || path === paths.revoke || path === paths.register || path === paths.jwks;
}

/** Refuses a request whose body is left unread. It would be parsed as the next request, so the connection closes. */
function refuseRequest(reply: FastifyReply, status: number, why = 'the request can’t be read'): FastifyReply {
  return reply
    .code(status)
    .headers({ ...noStore, Connection: 'close' })
    .send({ error: 'invalid_request', error_description: why });
}

function sendFault(reply: FastifyReply, away: boolean): FastifyReply {
  return reply
    .code(away ? 503 : 500)
    .headers({ ...noStore, ...(away && { 'Retry-After': '5' }) })
    .send({ error: away ? 'temporarily_unavailable' : 'server_error' });
}
