import type { FastifyReply } from 'fastify';
import type { ServiceUrl } from '../../messages/service-url.ts';
import { errorPage, type Trouble, troubles } from './error-page.ts';
import { type Page, pageAnswer } from './page.ts';
import { goingOnPage } from './pages.ts';

/** Sends pages with their headers. */
export function pageSender(service: ServiceUrl) {
  function page(reply: FastifyReply, content: Page, status = 200): FastifyReply {
    if ((status === 429 || status === 503) && !reply.hasHeader('Retry-After')) reply.header('Retry-After', '60');
    const { headers, body } = pageAnswer(content, status, service.https);
    return reply.code(status).headers(headers).send(body);
  }
  return {
    page,
    /** Answers a form that leads on, perhaps to an app. `words`: where to. */
    goOn: (reply: FastifyReply, to: string, words?: string): FastifyReply => page(reply, goingOnPage(to, words)),
    trouble(reply: FastifyReply, given: keyof typeof troubles | Trouble, retrySeconds?: number): FastifyReply {
      const trouble: Trouble = typeof given === 'string' ? troubles[given] : given;
      if (retrySeconds !== undefined) reply.header('Retry-After', String(retrySeconds));
      return page(reply, errorPage(trouble), trouble.status);
    },
  };
}

export type PageSender = ReturnType<typeof pageSender>;
