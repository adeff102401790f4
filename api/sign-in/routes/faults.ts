import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { corsHeaders } from '../../messages/answer.ts';
import { lineLimit } from '../limits/line-limit.ts';
import { providerTrouble, troubles } from '../pages/error-page.ts';
import { isAway } from '../provider/provider.ts';
import { paths } from '../tokens/metadata.ts';
import type { SignInParts } from './sign-in-parts.ts';

/** Headers of an answer to a program. */
export const noStore = { ...corsHeaders, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** Logs why a request failed. A store that is away is no fault of this service, and any number of requests meet it. */
export function failureLog(logger: FastifyBaseLogger): (error: unknown, path: string) => void {
  const isWorthALine = lineLimit();
  return (error, path) => {
    if (!isAway(error)) logger.error({ err: error, path }, 'sign-in failed');
    else if (isWorthALine('away')) logger.warn({ path }, `sign-in failed: ${(error as Error).message}`);
  };
}

/** Answers what the routes throw: as JSON (RFC 6749) at endpoints for programs, as a page elsewhere. */
export function answerFaults(app: FastifyInstance, { pages, logger }: Pick<SignInParts, 'pages' | 'logger'>): void {
  const logFailure = failureLog(logger);
  app.setErrorHandler((error, request, reply) => {
    // Only the path: queries contain codes.
    const path = request.raw.url!.split('?')[0]!;
    const forPrograms = programPaths.has(path);
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    if (status < 500) {
      logger.debug({ path, reason: (error as Error).message }, 'request refused');
      // A long body is left unread.
      reply.header('Connection', 'close');
      if (!forPrograms) return pages.trouble(reply, { ...troubles.unreadable, status });
      const answer = { error: 'invalid_request', error_description: 'the body can’t be read' };
      return reply.code(status).headers(noStore).send(answer);
    }
    logFailure(error, path);
    const away = isAway(error);
    if (!forPrograms) return pages.trouble(reply, away ? 'away' : providerTrouble('server_error', status));
    return reply
      .code(away ? 503 : 500)
      .headers({ ...noStore, ...(away && { 'Retry-After': '5' }) })
      .send({ error: away ? 'temporarily_unavailable' : 'server_error' });
  });
}

/** Where errors are for programs, as JSON. */
const programPaths: ReadonlySet<string> = new Set([paths.token, paths.revoke, paths.register, paths.jwks]);
