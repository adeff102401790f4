import type { RiderCard } from '../tokens/rider-directory.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import { readWords } from './scope-words.ts';

export interface ConnectedApp {
  clientId: string;
  name: string;
  /** Milliseconds since the epoch. */
  sinceMs: number;
  untilMs: number;
}

export interface ConnectedAppsForm {
  action: string;
  csrf: string;
  signOut: string;
  rider: RiderCard;
  apps: readonly ConnectedApp[];
  /** Ids of clients in the operator's file. Other clients introduced themselves. */
  knownClients: ReadonlySet<string>;
  /** An app that was just disconnected. */
  disconnected?: string | undefined;
}

const dateWords = (ms: number): string =>
  new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(ms);
const isoDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Lists the apps that may read a rider's calendar, each with a button to disconnect it. */
export function connectedAppsPage(form: ConnectedAppsForm): Page {
  const { action, csrf, signOut, rider, apps, knownClients, disconnected } = form;
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
<p class="soft">Connected since <time datetime="${isoDate(app.sinceMs)}">${dateWords(app.sinceMs)}</time>, until <time datetime="${isoDate(app.untilMs)}">${dateWords(app.untilMs)}</time> at the latest.${knownClients.has(app.clientId) ? null : ' This app chose its name by itself.'}</p>
<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${csrf}">
<button class="danger" name="disconnect" value="${app.clientId}" aria-label="Disconnect ${app.name}">Disconnect</button>
</form>
</li>
`,
)}</ul>`
}
<p class="actions"><a class="button plain" href="${signOut}">Sign out</a></p>`,
  };
}
