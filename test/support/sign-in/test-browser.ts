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

  /** Goes where redirects and pages lead within the origin: to the first page that leads nowhere, or the first address elsewhere. */
  async #openAt(response: Response, hops = 20): Promise<Opened> {
    if (hops === 0) throw new Error('redirects without end');
    const location = response.headers.get('location');
    const page = location === null ? await response.text() : '';
    const next = location === null ? nextOf(page) : new URL(location, response.url).href;
    if (next === null) return { url: response.url, response, page };
    const { origin, pathname } = new URL(next);
    if (origin !== this.#origin || pathname === '/callback') return { url: next, response, page: '' };
    return await this.#openAt(await this.get(next), hops - 1);
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
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
    const attribute = (wanted: string) => new RegExp(`; *${wanted}=([^;]+)`, 'i').exec(line)?.[1];
    const path = attribute('path') ?? '/';
    const expires = attribute('expires');
    if (value === '' || (expires !== undefined && Date.parse(expires) < Date.now()))
      this.#cookies.delete(`${name} ${path}`);
    else this.#cookies.set(`${name} ${path}`, { value: value!, path });
  }
}

/** Where a page that leads on leads to. */
export const nextOf = (page: string): string | null =>
  /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(page)?.[1]?.replaceAll('&#38;', '&') ?? null;

export function newPkce() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
