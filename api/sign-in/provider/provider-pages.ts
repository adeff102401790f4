import type { Configuration, errors, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { ServiceUrl } from '../../messages/service-url.ts';
import { redirectWords } from '../clients/client-words.ts';
import { errorPage, providerTrouble, type Trouble, troubles } from '../pages/error-page.ts';
import { pageAnswer } from '../pages/page.ts';

/** Our page of an error, in place of oidc-provider's own. */
export const errorRenderer =
  ({ https }: ServiceUrl): NonNullable<Configuration['renderError']> =>
  (ctx, answer, error) => {
    const trouble = error.name === 'SessionNotFound' ? troubles.expired : troubleOf(error as errors.OIDCProviderError);
    const uri = withheld.get(error);
    const page = errorPage({ ...trouble, ...(uri !== undefined && { next: answerAddress(uri, answer) }) });
    const { headers, body } = pageAnswer(page, trouble.status, https);
    ctx.status = trouble.status;
    ctx.set(headers);
    ctx.body = body;
  };

// Those that oidc-provider would redirect have its status, 303.
const troubleOf = ({ expose, error, statusCode }: errors.OIDCProviderError): Trouble =>
  expose ? providerTrouble(error, Math.max(statusCode, 400)) : providerTrouble('server_error', 500);

/** Errors that are not sent to an address that their client registered by itself, and that address. */
const withheld = new WeakMap<Error, string>();

/**
 * Keeps the service from being an open redirector (docs/rules.md#redirect-uris; RFC 9700, 4.11.2). Anybody can register
 * a client or publish its document, and send a wrong request in its name. Its error would redirect a browser to any
 * address, without a click. So such an error is a page with a link. After a rider has answered one of our pages,
 * responses go to the client as usual.
 */
export function withholdErrors(provider: Provider, knownClients: ReadonlySet<string>): void {
  // oidc-provider emits these events just before it decides whether an error may be redirected.
  const withhold = ({ oidc }: KoaContextWithOIDC, error: Error & { allow_redirect?: boolean }): void => {
    if (oidc.route !== 'authorization' || error.allow_redirect !== true) return;
    if (knownClients.has(oidc.client?.clientId ?? '')) return;
    error.allow_redirect = false;
    // An address that is not known to be this client's is not shown as a link either (RFC 6749 §4.1.2.1).
    const uri = oidc.params?.redirect_uri;
    if (typeof uri === 'string' && oidc.client?.redirectUriAllowed(uri)) withheld.set(error, uri);
  };
  provider.on('authorization.error', withhold);
  provider.on('server_error', withhold);
}

/** The address to which oidc-provider would have redirected the browser. */
function answerAddress(uri: string, answer: object): { to: string; words: string } {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(answer))
    if (value !== undefined) url.searchParams.set(name, String(value));
  return { to: url.href, words: `Go on to ${redirectWords(uri)}` };
}
