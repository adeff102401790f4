import type { errors, KoaContextWithOIDC } from 'oidc-provider';
import { redirectSources } from '../sign-in/client-words.ts';
import { errorPage, libraryTrouble } from '../sign-in/error-page.ts';
import { type Page, pageHeaders, pagePolicy, renderPage } from '../sign-in/page.ts';
import { isSignedIn } from '../sign-in/sign-out.ts';
import { signedOutPage, signOutPage, stillSignedInPage } from '../sign-in/sign-out-pages.ts';
import { paths } from './metadata.ts';
import type { ProviderOptions } from './provider-settings.ts';
import type { ServiceUrl } from './service-url.ts';

/** Our pages in place of the library's own. `providerHost`: where riders may still be signed in. */
export function libraryPages(
  service: ServiceUrl,
  providerHost: string | null,
): Pick<ProviderOptions, 'renderError' | 'renderSignOut' | 'renderSignedOut'> {
  const show = (ctx: KoaContextWithOIDC, page: Page, status: number): void => {
    ctx.status = status;
    ctx.type = 'text/html; charset=utf-8';
    ctx.set(pageHeaders(pagePolicy(signOutTargets(ctx)), service.https));
    ctx.body = renderPage(page);
  };
  return {
    renderError: (ctx, error) => show(ctx, ...errorPageOf(error)),
    renderSignOut: (ctx, secret) => show(ctx, signOutPage(`${paths.signOut}/confirm`, secret), 200),
    async renderSignedOut(ctx) {
      const page = (await isSignedIn(ctx))
        ? stillSignedInPage(paths.connectedApps)
        : signedOutPage(paths.connectedApps, providerHost);
      show(ctx, page, 200);
    },
  };
}

function errorPageOf(error: errors.OIDCProviderError): [Page, number] {
  const status = error.expose ? error.statusCode : 500;
  const code = error.expose ? error.error : 'server_error';
  const trouble = libraryTrouble(code, status, error.name === 'SessionNotFound');
  return [errorPage(trouble), trouble.status];
}

/** Signing out may end at an address that a client registered for it. */
function signOutTargets(ctx: KoaContextWithOIDC): string[] {
  const uri = (ctx.oidc.session?.state as { postLogoutRedirectUri?: string } | undefined)?.postLogoutRedirectUri;
  return uri === undefined ? [] : redirectSources(uri);
}
