import type { FastifyReply } from 'fastify';
import type { ServiceUrl } from '../../messages/service-url.ts';
import { errorPage, type Trouble, troubles } from './error-page.ts';
import { type Page, pageHeaders, pagePolicy, renderPage } from './page.ts';

/** Sends pages with their headers. */
export function pageSender(service: ServiceUrl) {
  /** `formTargets`: origins that the page's forms may end at. */
  function page(reply: FastifyReply, content: Page, status = 200, formTargets: readonly string[] = []): FastifyReply {
    if ((status === 429 || status === 503) && !reply.hasHeader('Retry-After')) reply.header('Retry-After', '60');
    return reply
      .code(status)
      .headers(pageHeaders(pagePolicy(formTargets), service.https))
      .type('text/html; charset=utf-8')
      .send(renderPage(content));
  }
  return {
    page,
    trouble(reply: FastifyReply, given: keyof typeof troubles | Trouble, retrySeconds?: number): FastifyReply {
      const trouble: Trouble = typeof given === 'string' ? troubles[given] : given;
      if (retrySeconds !== undefined) reply.header('Retry-After', String(retrySeconds));
      return page(reply, errorPage(trouble), trouble.status);
    },
  };
}

export type PageSender = ReturnType<typeof pageSender>;
