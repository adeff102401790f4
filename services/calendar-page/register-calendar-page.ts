import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

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

const types = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;
const page = 'calendar.html';
const files = ['calendar.css', 'calendar.js', 'api.js', 'dates.js', 'nights.js', 'sign-in.js', 'icon.svg'];

/** Serves /calendar: plain files, and a config.json that may hold a key: for no other origin (docs/rules.md#cors). */
export function registerCalendarPage(app: FastifyInstance, config: () => CalendarPageConfig): void {
  const { origin } = new URL(config().baseUrl);
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self' ${origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // A text of a rider can never become HTML, whatever the page's code does.
    "require-trusted-types-for 'script'",
  ];
  const headers = {
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    // The page's address holds the authorization code after sign-in.
    'Referrer-Policy': 'no-referrer',
  };
  const serve = (path: string, name: string): void => {
    const content = readFileSync(new URL(name, import.meta.url));
    const type = types[name.split('.')[1] as keyof typeof types];
    app.get(path, (_request, reply) => reply.headers(headers).type(type).send(content));
  };
  serve('/calendar', page);
  // Relative, so that it works behind a proxy that adds a path prefix.
  app.get('/calendar/', (_request, reply) => reply.redirect('../calendar', 308));
  for (const name of files) serve(`/calendar/${name}`, name);
  app.get('/calendar/config.json', (_request, reply) => reply.headers(headers).send(config()));
}
