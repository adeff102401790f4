// Signs riders in: OAuth 2.1, authorization code with PKCE, for a page, which can keep no secret.
//
// Tokens are in sessionStorage: each tab has its own, and they go when it closes. In localStorage all tabs would share one
// refresh token, and each use of it makes a new one: two tabs that refresh together would look like a thief.

const keep = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));
const kept = (name) => JSON.parse(sessionStorage.getItem(name));
const drop = (name) => sessionStorage.removeItem(name);

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (c) => ({ '+': '-', '/': '_' })[c] ?? '');
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
const sha256 = async (text) => new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));

/** Whether this tab is a duplicate, which starts with a copy of the other's storage. Each tab holds a lock on its own id. */
function isDuplicate() {
  keep('tab', kept('tab') ?? random());
  return new Promise((resolve) => {
    const hold = () => new Promise(() => resolve(false));
    // It is free at once, or a moment after a reload, when the page before has gone.
    navigator.locks.request(kept('tab'), { signal: AbortSignal.timeout(1000) }, hold).catch(() => resolve(true));
  });
}

/** `redirectUri`: where riders come back to, after signing in and after signing out. */
export function createSignIn(baseUrl, clientId, redirectUri) {
  let refreshing = null;

  /** Where the server's endpoints are, from the base URL alone (RFC 9728, then RFC 8414). */
  async function endpoints() {
    const { origin, pathname } = new URL(baseUrl);
    const resource = await json(`${origin}/.well-known/oauth-protected-resource${pathname}`);
    return json(`${resource.authorization_servers[0]}/.well-known/oauth-authorization-server`);
  }

  async function json(url) {
    const response = await fetch(url).catch(() => ({ ok: false }));
    if (!response.ok) throw new Error('Nobody can sign in just now. Try again in a minute.');
    return response.json();
  }

  /** A refresh token works three times within ten seconds, for a reply that was lost. A code works once: `more` is 0. */
  async function post(url, body, more) {
    try {
      const response = await fetch(url, { method: 'POST', body });
      return { status: response.status, answer: response.ok ? await response.json() : null };
    } catch {
      if (more === 0) return { status: 503 };
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return post(url, body, more - 1);
    }
  }

  /** Gets and keeps tokens. False: refused, so the rider is signed out. */
  async function tokens(parameters) {
    const { token_endpoint } = await endpoints();
    const body = new URLSearchParams({ client_id: clientId, resource: baseUrl, ...parameters });
    const { status, answer } = await post(token_endpoint, body, parameters.refresh_token ? 2 : 0);
    if (status === 429 || status >= 500) throw new Error('Sign-in is busy. Try again in a minute.');
    drop('tokens');
    if (!answer) return false;
    keep('tokens', { ...answer, endsMs: Date.now() + answer.expires_in * 1000 });
    return true;
  }

  return {
    isSignedIn: () => kept('tokens') !== null,
    forget: () => drop('tokens'),

    /** Leaves for the sign-in page. `back`: the query of the page to come back to. */
    async start(back) {
      const { authorization_endpoint } = await endpoints();
      const [state, verifier] = [random(), random()];
      keep('asked', { state, verifier, back });
      const ours = { client_id: clientId, redirect_uri: redirectUri, resource: baseUrl, scope: 'read' };
      const pkce = { state, code_challenge: base64url(await sha256(verifier)), code_challenge_method: 'S256' };
      // After a sign-out the next rider at this machine says who they are.
      const prompt = kept('signed-out') && { prompt: 'login' };
      const query = new URLSearchParams({ response_type: 'code', ...ours, ...pkce, ...prompt });
      location.assign(`${authorization_endpoint}?${query}`);
    },

    /** Call it first. It goes on where the server led back to: the query to show, and what to tell the rider. Null: nothing. */
    async finish() {
      const wasIn = kept('tokens');
      if (await isDuplicate()) for (const name of ['tab', 'tokens']) drop(name);
      if (wasIn && !kept('tokens')) return { back: location.search, problem: 'This tab is a copy. Sign in here, too.' };
      const answer = new URLSearchParams(location.search);
      if (!answer.has('state')) return null;
      const asked = kept('asked');
      drop('asked');
      // Back from signing out, or a link that somebody else made.
      if (asked?.state !== answer.get('state')) return { back: '', problem: null };
      const { back, verifier: code_verifier } = asked;
      const code = answer.get('code');
      if (code === null) return { back, problem: 'You are not signed in.' };
      const { issuer } = await endpoints();
      const isOurs = answer.get('iss') === issuer;
      const given = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier };
      if (!isOurs || !(await tokens(given))) return { back, problem: 'Signing in did not work. Try again.' };
      drop('signed-out');
      return { back, problem: null };
    },

    /** An access token, not the `refused` one, that is good for half a minute or more. Null: the rider has to sign in. */
    async accessToken(refused) {
      const now = kept('tokens');
      if (now === null) return null;
      if (now.access_token !== refused && Date.now() < now.endsMs - 30_000) return now.access_token;
      refreshing ??= tokens({ grant_type: 'refresh_token', refresh_token: now.refresh_token }).finally(() => {
        refreshing = null;
      });
      return (await refreshing) ? kept('tokens').access_token : null;
    },

    /** Disconnects this tab, then leaves for the page that ends the browser's session and leads back here. */
    async signOut() {
      const { revocation_endpoint, end_session_endpoint } = await endpoints();
      const body = new URLSearchParams({ client_id: clientId, token: kept('tokens').refresh_token });
      await fetch(revocation_endpoint, { method: 'POST', body }).catch(() => {});
      drop('tokens');
      keep('signed-out', true);
      const back = { client_id: clientId, post_logout_redirect_uri: redirectUri, state: 'signed-out' };
      location.assign(`${end_session_endpoint}?${new URLSearchParams(back)}`);
    },
  };
}
