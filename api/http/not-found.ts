import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { type Answer, corsHeaders } from '../messages/answer.ts';
import { html } from '../messages/html.ts';
import { noSuchRouteBody, refuse } from '../messages/refusals.ts';
import type { ServiceUrl } from '../messages/service-url.ts';
import { decodeText, splitTarget } from '../messages/target.ts';
import { pageAnswer } from '../sign-in/pages/page.ts';

/**
 * The 404 of a path that does not exist: JSON, but outside the interface's base path a page for who prefers HTML, since a
 * browser may come there (docs/rules.md#other-paths). `service`: null where there is no interface.
 */
export function notFound(
  { url, headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  service: ServiceUrl | null,
): Answer {
  const types = ['application/json', 'text/html'];
  const isHtml = new Negotiator({ headers }).mediaType(types) === 'text/html';
  const path = decodeText(splitTarget(url!).path) ?? url!;
  if (!isHtml || (service && `${path}/`.startsWith(`${service.basePath}/`))) return refuse.notFound(noSuchRouteBody);
  const body = html`<p>Nothing is at this address. If an app sent you here, go back to the app and start again.</p>
${service && html`<p class="actions"><a class="button plain" href="${service.origin}/docs">Read about the calendar’s API</a></p>`}`;
  const page = pageAnswer({ title: 'There is no such page', body }, 404, service?.https ?? false);
  return { ...page, headers: { ...corsHeaders, ...page.headers } };
}
