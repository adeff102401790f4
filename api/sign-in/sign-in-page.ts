import type { SampleRider } from '../tokens/rider-directory.ts';
import { type Html, html } from './html.ts';
import type { Page } from './page.ts';

export interface SignInForm {
  action: string;
  csrf: string;
  /** Who asks; null where the rider came by themself. */
  app: string | null;
  alert?: string | undefined;
}

const forApp = (app: string | null): Html =>
  app === null
    ? html`<p>Sign in to see the apps connected to your rides.</p>`
    : html`<p><strong>${app}</strong> asks you to sign in. Nothing is shared before you have said yes on the next page.</p>`;

const cancel = (app: string | null): Html =>
  app === null ? html`` : html`<button class="plain" name="do" value="cancel">Cancel</button>`;

/** The embedded default: whoever sits at this machine picks a rider of the sample. */
export function pickerPage(form: SignInForm, riders: readonly SampleRider[]): Page {
  return {
    title: 'Sign in',
    alert: form.alert,
    body: html`${forApp(form.app)}
<p class="note">This service runs on sample data, on this machine only. Pick any rider to be.</p>
<form method="post" action="${form.action}">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="do" value="pick">
<ul class="riders">
${riders.map(
  ({ rider, handle, name }) =>
    html`<li><button name="rider" value="${rider}"><strong>${name ?? handle}</strong> <span class="soft">@${handle}</span></button></li>
`,
)}</ul>
</form>
<form method="post" action="${form.action}">
<input type="hidden" name="csrf" value="${form.csrf}">
<label for="rider">Or give a rider’s id</label>
<input type="text" id="rider" name="rider" autocomplete="off" spellcheck="false" maxlength="64">
<p class="actions"><button name="do" value="pick">Sign in</button>${cancel(form.app)}</p>
</form>`,
  };
}

/** Production: riders prove who they are at the ride-management system. */
export function upstreamPage(form: SignInForm, start: string, providerHost: string): Page {
  return {
    title: 'Sign in',
    alert: form.alert,
    body: html`${forApp(form.app)}
<p>You sign in with your ride account at <strong>${providerHost}</strong>. This service never sees your password.</p>
<form method="post" action="${form.action}">
<input type="hidden" name="csrf" value="${form.csrf}">
<p class="actions"><a class="button" href="${start}">Continue to ${providerHost}</a>${cancel(form.app)}</p>
</form>`,
  };
}

/** Neither: nobody can sign in, and the operator hears why. */
export const closedPage: Page = {
  title: 'Nobody can sign in yet',
  body: html`<p>This service does not know where its riders sign in.</p>
<p class="soft">For its operator: set SIGN_IN_ISSUER, SIGN_IN_CLIENT_ID and SIGN_IN_CLIENT_SECRET to the OpenID Connect provider of the ride-management system.</p>`,
};
