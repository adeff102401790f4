import { html } from '../../messages/html.ts';
import { paths } from '../tokens/metadata.ts';
import type { Page } from './page.ts';

/** Who wants a rider signed out, and where they want them back. */
export interface SignOutRequest {
  /** The app that sent the rider here. Null: they came by themself, or nobody knows the app. */
  client: { id: string; name: string; isKnown: boolean } | null;
  /** An address that the app registered for this, and where it is in words. */
  back: { to: string; words: string } | null;
  /** Whether the app named an address that it did not register. */
  isRefused: boolean;
  /** What it sent, as form fields. */
  fields: URLSearchParams;
}

/** Asks before signing out: a link from elsewhere must not be enough. */
export function signOutPage({ client, back, isRefused, fields }: SignOutRequest): Page {
  return {
    title: 'Sign out?',
    body: html`${client === null ? null : html`<p><strong>${client.name}</strong> asks you to sign out.</p>`}
<p>This signs you out in this browser. Apps you have connected stay connected.</p>
${back === null ? null : html`<p class="soft">Afterwards you can go on to ${back.words}.</p>`}
${isRefused ? html`<p class="soft">The app named an address to go on to that it has not registered, so you stay here.</p>` : null}
<form method="post" action="${paths.signOut}">
${[...fields].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="actions"><button>Sign out</button><a class="button plain" href="${paths.connectedApps}">Stay signed in</a></p>
</form>`,
  };
}

export const signedOutPage = ({ back }: SignOutRequest, upstreamHost: string | null): Page => ({
  title: 'You are signed out',
  body: html`<p>This browser is no longer signed in to Ride Calendar. Apps you have connected stay connected until you disconnect them.</p>
${upstreamHost === null ? null : html`<p>You may still be signed in at ${upstreamHost}.</p>`}
<p class="actions">${back === null ? null : html`<a class="button" href="${back.to}">Go on to ${back.words}</a>`}<a class="button plain" href="${paths.connectedApps}">Sign in to see connected apps</a></p>`,
});
