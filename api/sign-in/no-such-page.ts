import type { IncomingMessage } from 'node:http';
import type { Answer } from '../http/answer.ts';
import { errorPage, troubles } from './error-page.ts';
import { pageHeaders, pagePolicy, renderPage } from './page.ts';

/** The answer to a browser at a path of sign-in that does not exist. Null for programs, and for other paths. */
export function noSuchPage(https: boolean): (request: IncomingMessage) => Answer | null {
  const body = Buffer.from(renderPage(errorPage(troubles.noSuchPage)));
  const headers = { ...pageHeaders(pagePolicy(), https), 'Content-Type': 'text/html; charset=utf-8' };
  return ({ url, headers: { accept } }) =>
    /^\/oauth(\/|\?|$)/.test(url!) && accept?.includes('text/html')
      ? { status: troubles.noSuchPage.status, headers: { ...headers }, body }
      : null;
}
