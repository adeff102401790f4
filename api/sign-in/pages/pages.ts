import { type Html, html } from '../../messages/html.ts';
import type { RiderCard, SampleRider } from '../../ports/rider-directory.ts';
import { paths } from '../tokens/metadata.ts';
import type { Page } from './page.ts';

/** The pages that riders see, as functions from values to HTML. error-page.ts has those for what goes wrong. */

export interface SignInForm {
  action: string;
  /** Who asks; null where the rider came by themself. */
  app: string | null;
  alert?: string | undefined;
}

const forApp = ({ app }: SignInForm): Html =>
  app === null
    ? html`<p>Sign in to see the apps connected to your rides.</p>`
    : html`<p><strong>${app}</strong> asks you to sign in.</p>`;

const cancel = (app: string | null): Html =>
  app === null ? html`` : html`<button class="plain" name="do" value="cancel">Cancel</button>`;

/** In demo mode a person at this machine picks a rider, without proof (docs/rules.md#picking-a-rider). */
export function pickerPage(form: SignInForm, riders: readonly SampleRider[], typed: string): Page {
  return {
    title: 'Sign in',
    alert: form.alert,
    body: html`${forApp(form)}
<p class="note">This service runs on sample data, on this machine only. Pick any rider to be.</p>
<form method="post" action="${form.action}">
<input type="hidden" name="do" value="pick">
<ul class="riders">
${riders.map(
  ({ rider, handle, name, sees }) =>
    html`<li><button name="rider" value="${rider}"><strong>${name ?? handle}</strong> <span class="soft">@${handle}: ${sees}</span></button></li>
`,
)}</ul>
</form>
<form method="post" action="${form.action}">
<label for="rider">Or give a rider’s id</label>
<input type="text" id="rider" name="rider" value="${typed}" autocomplete="off" spellcheck="false" maxlength="64">
<p class="actions"><button name="do" value="pick">Sign in</button>${cancel(form.app)}</p>
</form>`,
  };
}

/** Elsewhere riders prove who they are at the ride-management system (docs/rules.md#identity). */
export const upstreamPage = (form: SignInForm, start: string, upstreamHost: string): Page => ({
  title: 'Sign in',
  alert: form.alert,
  body: html`${forApp(form)}
<p>You sign in with your ride account at <strong>${upstreamHost}</strong>. This service never sees your password.</p>
<form method="post" action="${form.action}">
<p class="actions"><a class="button" href="${start}">Continue to ${upstreamHost}</a>${cancel(form.app)}</p>
</form>`,
});

/** Leads on by itself, and by a link where a browser does not. */
export const goingOnPage = (to: string, words?: string): Page => ({
  title: 'One moment',
  goTo: to,
  body: html`<p>Your browser goes on by itself. If it does not:</p>
<p class="actions"><a class="button" href="${to}">Go on${words === undefined ? null : html` to ${words}`}</a></p>`,
});

/** With neither, nobody can sign in. The page tells the operator what to set. */
export const closedPage: Page = {
  title: 'Nobody can sign in yet',
  body: html`<p>This service does not know where its riders sign in.</p>
<p class="soft">For its operator: set SIGN_IN_ISSUER, SIGN_IN_CLIENT_ID and SIGN_IN_CLIENT_SECRET to the OpenID Connect provider of the ride-management system.</p>`,
};

/** What scope `read` covers (docs/rules.md#scope), in words for riders. */
const readWords: Html = html`<ul>
<li><strong>The ride calendar</strong>: days, rides and where they meet, as anybody sees them.</li>
<li><strong>Your own nights</strong>: the ones you lead, are going to, rode or saved.</li>
<li><strong>Your friends’ nights</strong>: which of the riders you follow or marked as close friends are going, with their names.</li>
<li><strong>Riders you flagged</strong>: the nights they are going to, with their names.</li>
</ul>`;

export interface ConsentForm {
  action: string;
  app: string;
  /** Where the response goes, in words. */
  goesTo: string;
  /** Whether the app is in the operator's file. If not, it introduced itself. */
  known: boolean;
  /** The host that vouches for what the app says about itself. Null if there is none. */
  host: string | null;
  rider: RiderCard;
  grantDays: number;
}

/** Asks the rider whether an app may read (docs/rules.md#consent). */
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
<p class="soft">You will return to ${form.goesTo}. The app stays connected for up to ${form.grantDays} days, or until you disconnect it under <a href="${paths.connectedApps}">connected apps</a>.</p>
<form method="post" action="${form.action}">
<p class="actions"><button name="do" value="allow">Allow</button><button class="plain" name="do" value="deny">Don’t allow</button></p>
<p class="soft">Not you? <button class="link" name="do" value="switch">Sign in as somebody else</button></p>
</form>`,
  };
}

interface ConnectedApp {
  client: string;
  name: string;
  /** Milliseconds since the epoch. */
  oldestMs: number;
  untilMs: number;
}

export interface ConnectedAppsForm {
  rider: RiderCard;
  apps: readonly ConnectedApp[];
  /** Ids of clients in the operator's file. Other clients introduced themselves. */
  knownClients: ReadonlySet<string>;
  /** Ids of clients that riders are not asked about. */
  consentSkippers: ReadonlySet<string>;
  /** An app that was just disconnected. */
  disconnected?: string | undefined;
}

const dateWords = (ms: number): string =>
  new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(ms);
const isoDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Lists the apps that may read a rider's calendar, each with a button to disconnect it. */
export function connectedAppsPage(form: ConnectedAppsForm): Page {
  const { rider, apps, knownClients, consentSkippers, disconnected } = form;
  return {
    title: 'Connected apps',
    alert:
      disconnected === undefined
        ? undefined
        : `${disconnected} is disconnected. What it was given last still works for up to ten minutes.`,
    body: html`<p>You are signed in as <strong>${rider.name ?? rider.handle}</strong> <span class="soft">@${rider.handle}</span>.</p>
${
  apps.length === 0
    ? html`<p>No app is connected to your rides.</p>`
    : html`<p>${apps.length === 1 ? 'This app' : `These ${apps.length} apps`} can read, but not change:</p>
${readWords}
<ul class="apps">
${apps.map(
  (app) => html`<li>
<h2>${app.name}</h2>
<p class="soft">Connected since <time datetime="${isoDate(app.oldestMs)}">${dateWords(app.oldestMs)}</time>, until <time datetime="${isoDate(app.untilMs)}">${dateWords(app.untilMs)}</time> at the latest.${knownClients.has(app.client) ? null : ' This app chose its name by itself.'}${consentSkippers.has(app.client) ? ' It belongs to this calendar, and is connected whenever you sign in to it.' : null}</p>
<form method="post" action="${paths.connectedApps}">
<button class="danger" name="disconnect" value="${app.client}" aria-label="Disconnect ${app.name}">Disconnect</button>
</form>
</li>
`,
)}</ul>`
}
<p class="actions"><a class="button plain" href="${paths.signOut}">Sign out</a></p>`,
  };
}
