import { html } from './html.ts';
import type { Page } from './page.ts';

/** Asks before signing out: a link from elsewhere must not be enough. */
export function signOutPage(action: string, secret: string): Page {
  return {
    title: 'Sign out?',
    body: html`<p>This signs you out in this browser. Apps you have connected stay connected.</p>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${secret}">
<p class="actions"><button name="logout" value="yes">Sign out</button><button class="plain">Stay signed in</button></p>
</form>`,
  };
}

/** `back`: where the app that sent the rider wants them next. */
export function signedOutPage(
  connectedApps: string,
  providerHost: string | null,
  back: { to: string; words: string } | null = null,
): Page {
  return {
    title: 'You are signed out',
    body: html`<p>This browser is no longer signed in to Ride Calendar. Apps you have connected stay connected until you disconnect them.</p>
${providerHost === null ? null : html`<p>You may still be signed in at ${providerHost}.</p>`}
${back === null ? null : html`<p><a href="${back.to}">Go on to ${back.words}</a></p>`}
<p class="actions"><a class="button plain" href="${connectedApps}">Sign in to see connected apps</a></p>`,
  };
}

export function stillSignedInPage(connectedApps: string): Page {
  return {
    title: 'You are still signed in',
    body: html`<p>Nothing has changed.</p>
<p class="actions"><a class="button plain" href="${connectedApps}">Connected apps</a></p>`,
  };
}
