import type { RiderCard } from '../tokens/rider-directory.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import { readWords } from './scope-words.ts';

export interface ConsentForm {
  action: string;
  csrf: string;
  app: string;
  /** Where the response goes, in words. */
  goesTo: string;
  /** Whether the app is in the operator's file. If not, it introduced itself. */
  known: boolean;
  /** The host that vouches for what the app says about itself. Null if there is none. */
  host: string | null;
  rider: RiderCard;
  grantDays: number;
  connectedApps: string;
}

/** Asks the rider whether an app may read. */
export function consentPage(form: ConsentForm): Page {
  const { app, rider } = form;
  return {
    title: `Let ${app} read your rides?`,
    body: html`<p>You are signed in as <strong>${rider.name ?? rider.handle}</strong> <span class="soft">@${rider.handle}</span>.</p>
${
  form.known
    ? null
    : html`<p class="note">This app introduced itself as “${app}”${form.host === null ? null : html` of <strong>${form.host}</strong>`}; nobody here has checked that. Go on only if you have just started to sign in with it yourself.</p>`
}
<h2>${app} will be able to see</h2>
${readWords}
<p>It can’t change anything, and does not get your password.</p>
<p class="soft">The answer goes to ${form.goesTo}. The app stays connected for up to ${form.grantDays} days, or until you disconnect it under <a href="${form.connectedApps}">connected apps</a>.</p>
<form method="post" action="${form.action}">
<input type="hidden" name="csrf" value="${form.csrf}">
<p class="actions"><button name="do" value="allow">Allow</button><button class="plain" name="do" value="deny">Don’t allow</button></p>
<p class="soft">Not you? <button class="link" name="do" value="switch">Sign in as somebody else</button></p>
</form>`,
  };
}
