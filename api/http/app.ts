import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { type CalendarDeps, calendar } from '../calendar/calendar.ts';
import { type Answer, send } from './answer.ts';
import { type HttpAppOptions, httpApp } from './http-app.ts';
import { refuse } from './refusals.ts';

export interface AppDeps extends CalendarDeps, Omit<HttpAppOptions, 'first'> {
  /** Called for every answer of the interface, with how long it took. */
  onAnswer?(operation: string, status: number, seconds: number): void;
}

/**
 * The HTTP application: the interface's paths below the base path, and whatever else is registered on it (docs, health,
 * sign-in). Fastify would decode paths, parse bodies and refuse methods before any of our code saw a request; the
 * interface has rules of its own for all of that, so its requests are answered before they get there.
 */
export function createApp(deps: AppDeps): FastifyInstance {
  const answers = calendar(deps);

  // A stored value that was spoilt must not end the process, wherever it shows: node:http refuses some headers.
  const sendOr500 = (response: ServerResponse, answer: Answer): number => {
    try {
      send(response, answer);
      return answer.status;
    } catch (cause) {
      deps.onFault(cause);
      if (response.headersSent) response.destroy();
      else send(response, refuse.internal());
      return 500;
    }
  };

  return httpApp({
    ...deps,
    first(request, response, last) {
      const started = performance.now();
      const handled = answers({ method: request.method!, target: request.url!, headers: request.headers });
      if (!handled) return false;
      const { operation, answer } = handled;
      const finish = (done: Answer): void => {
        if (last) done.headers.Connection = 'close';
        const status = sendOr500(response, done);
        deps.onAnswer?.(operation, status, (performance.now() - started) / 1000);
      };
      if (answer instanceof Promise) void answer.then(finish);
      else finish(answer);
      return true;
    },
  });
}
