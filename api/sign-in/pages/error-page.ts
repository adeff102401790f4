import { html } from '../../messages/html.ts';
import type { Page } from './page.ts';

/** What went wrong, for the rider, and the code that the app's makers will ask for. */
export interface Trouble {
  status: number;
  title: string;
  text: string;
  /** Never contains anything of the request. */
  code: string;
  /** Where the rider can go on, and what the link says. */
  next?: { to: string; words: string };
}

export const troubles = {
  expired: {
    status: 400,
    title: 'This sign-in is over',
    text: 'It was finished already, took too long, or was begun in another browser. If your app has let you in, you can close this page. If not, go back to your app and start again.',
    code: 'interaction_expired',
  },
  forged: {
    status: 403,
    title: 'That did not come from this page',
    text: 'The form was not sent from a page of this service, so nothing was done. Go back to your app and start again.',
    code: 'forged',
  },
  unreadable: {
    status: 400,
    title: 'That form can’t be read',
    text: 'Go back to your app and start again.',
    code: 'invalid_request',
  },
  busy: {
    status: 429,
    title: 'Too many attempts',
    text: 'Wait a minute, then try again.',
    code: 'rate_limited',
  },
  away: {
    status: 503,
    title: 'Sign-in is not available right now',
    text: 'Nothing is lost. Try again in a minute.',
    code: 'temporarily_unavailable',
  },
  upstreamAway: {
    status: 502,
    title: 'The ride account’s sign-in can’t be reached',
    text: 'The system that knows riders’ passwords does not answer, or not as it should. Try again in a minute.',
    code: 'upstream_unavailable',
  },
  upstreamRefused: {
    status: 403,
    title: 'The sign-in was not finished',
    text: 'The ride account’s own sign-in was cancelled or refused. Try again, or go back to your app.',
    code: 'upstream_refused',
  },
  noRider: {
    status: 403,
    title: 'There is no rider for this account',
    text: 'You signed in, but that account has no rider in the ride calendar. A rider who was made only minutes ago may still be on the way. If you have no other account, go back to your app.',
    code: 'no_such_rider',
  },
  wrongHost: {
    status: 421,
    title: 'This page is elsewhere',
    text: 'It answers only at this machine’s own address. Start again from your app.',
    code: 'misdirected',
  },
} satisfies Record<string, Trouble>;

const silent = {
  title: 'Please sign in first',
  text: 'The app that sent you wanted to go on without a page. It needs you to sign in, and to allow it to read. Start again from the app.',
};

/** oidc-provider's errors, in words for a rider. */
const providerWords = new Map<string, { title: string; text: string }>(
  Object.entries({
    login_required: silent,
    consent_required: silent,
    interaction_required: silent,
    invalid_client: {
      title: 'This app is not known here',
      text: 'The app that sent you is not registered with this service, or its registration has ended. Tell its makers.',
    },
    invalid_scope: {
      title: 'This app asked for more than there is',
      text: 'The only scope that an app can have here is “read”, and it asked for another one. Tell its makers.',
    },
    invalid_redirect_uri: {
      title: 'This app asked for a wrong address',
      text: 'The address to which the app wants its answer is not one that it registered. To protect you, nothing was sent. Tell its makers.',
    },
    invalid_client_metadata: {
      title: 'This app introduced itself wrongly',
      text: 'What the app says about itself can’t be accepted here. Tell its makers.',
    },
    temporarily_unavailable: { title: troubles.away.title, text: troubles.away.text },
    server_error: {
      title: 'Something went wrong here',
      text: 'It is not your fault, and has been noted. Try again in a minute.',
    },
  }),
);

export function providerTrouble(code: string, status: number): Trouble {
  const words = providerWords.get(code) ?? {
    title: 'This app’s request can’t be understood',
    text: 'The app that sent you made a mistake in its request. Tell its makers.',
  };
  return { status, ...words, code };
}

export const errorPage = ({ title, text, code, next }: Trouble): Page => ({
  title,
  body: html`<p>${text}</p>
${next === undefined ? null : html`<p class="actions"><a class="button" href="${next.to}">${next.words}</a></p>`}
<p class="soft">Error code: <code>${code}</code></p>`,
});
