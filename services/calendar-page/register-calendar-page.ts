import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { ownOriginHeaders } from '../../api/messages/answer.ts';
import { appHeaders, fileType, serveFile } from '../../api/messages/served-files.ts';

/** What the page knows of the service that it shows: calendar/config.json. */
export interface CalendarPageConfig {
  /** The interface's base path, absolute. */
  baseUrl: string;
  /** A developer key that anybody at this machine may use. Null: the page asks for one. */
  key: string | null;
  metros: { slug: string; name: string; zone: string }[];
  /** The page's client id at the authorization server. Null: nobody can sign in. */
  clientId: string | null;
  /** The instant at which the calendar's clock stands (docs/rules.md#clock). Null: it goes. */
  now: string | null;
}

const files = ['calendar.css', 'calendar.js', 'api.js', 'dates.js', 'nights.js', 'sign-in.js', 'icon.svg'];

/** Serves /calendar: plain files, and a config.json that may hold a key: for no other origin (docs/rules.md#cors). */
export function registerCalendarPage(app: FastifyInstance, config: () => CalendarPageConfig): void {
  const headers = appHeaders(config().baseUrl, [
    "style-src 'self'",
    "img-src 'self'",
    // A text of a rider can never become HTML, whatever the page's code does.
    "require-trusted-types-for 'script'",
  ]);
  const serve = (path: string, name: string): void =>
    serveFile(app, path, readFileSync(new URL(name, import.meta.url)), fileType(name), headers);
  serve('/calendar', 'calendar.html');
  // Relative, so that it works behind a proxy that adds a path prefix.
  app.get('/calendar/', (_request, reply) => reply.redirect('../calendar', 308));
  for (const name of files) serve(`/calendar/${name}`, name);
  app.get('/calendar/config.json', (_request, reply) =>
    reply.headers({ ...headers, ...ownOriginHeaders }).send(config()),
  );
}
