import { createHash, randomBytes } from 'node:crypto';

/** Where a browser has got to: a page, or '' for a redirect elsewhere. */
export interface Opened {
  url: string;
  response: Response;
  page: string;
}

/** What a browser without script does, on one origin: cookies by path, redirects by hand, forms. */
export class TestBrowser {
  readonly #cookies = new Map<string, { value: string; path: string }>();
  readonly #origin: string;
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Follows no redirect. */
  async get(url: string): Promise<Response> {
    return await this.#send(url);
  }

  async post(url: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    const body = new URLSearchParams(form);
    return await this.#send(url, { method: 'POST', body, headers: { 'sec-fetch-site': 'same-origin', ...headers } });
  }

  /** Follows redirects within the origin, to the first page or the first redirect elsewhere. */
  async follow(response: Response): Promise<{ url: string; response: Response }> {
    let [at, seen] = [response.url, response];
    for (let hops = 0; hops < 20; hops++) {
      const location = seen.headers.get('location');
      if (location === null) return { url: at, response: seen };
      at = new URL(location, at).href;
      if (new URL(at).origin !== this.#origin || URL.parse(at)?.pathname === '/callback')
        return { url: at, response: seen };
      seen = await this.get(at);
    }
    throw new Error('redirects without end');
  }

  async open(url: string): Promise<Opened> {
    return await this.#openAt(await this.get(url));
  }

  /** Posts a form of the page at a URL, and opens what that leads to. */
  async submit(url: string, form: Record<string, string>): Promise<Opened> {
    return await this.#openAt(await this.post(url, form));
  }

  /** What it would send as its Cookie header. */
  cookieHeader(url: string): string {
    const { pathname } = new URL(url, this.#origin);
    return (
      [...this.#cookies]
        .filter(([, { path }]) => path === '/' || pathname === path || pathname.startsWith(`${path}/`))
        // As browsers do: the longest path first (RFC 6265, 5.4).
        .sort(([, a], [, b]) => b.path.length - a.path.length)
        .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
        .join('; ')
    );
  }

  async #openAt(first: Response): Promise<Opened> {
    const found = await this.follow(first);
    const page = found.response.headers.has('location') ? '' : await found.response.text();
    const next = nextOf(page);
    if (next === null) return { ...found, page };
    if (new URL(next).origin !== this.#origin) return { url: next, response: found.response, page: '' };
    return await this.open(next);
  }

  async #send(url: string, init: RequestInit = {}): Promise<Response> {
    const target = new URL(url, this.#origin);
    const cookie = this.cookieHeader(url);
    const headers = { ...(cookie !== '' && { cookie }), ...init.headers };
    const response = await fetch(target, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) this.#keep(line);
    return response;
  }

  #keep(line: string): void {
    const [pair, ...attributes] = line.split(';').map((part) => part.trim());
    const [name, value] = [pair!.slice(0, pair!.indexOf('=')), pair!.slice(pair!.indexOf('=') + 1)];
    const attribute = (wanted: string): string | undefined =>
      attributes.find((each) => each.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const path = attribute('path') ?? '/';
    const expires = attribute('expires');
    if (value === '' || (expires !== undefined && Date.parse(expires) < Date.now()))
      this.#cookies.delete(`${name} ${path}`);
    else this.#cookies.set(`${name} ${path}`, { value, path });
  }
}

/** Where a page that leads on leads to. */
export const nextOf = (page: string): string | null =>
  /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(page)?.[1]?.replaceAll('&#38;', '&') ?? null;

export interface Pkce {
  verifier: string;
  challenge: string;
}
export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
