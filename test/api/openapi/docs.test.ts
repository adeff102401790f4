import { existsSync } from 'node:fs';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';

import { type DocsOptions, registerDocs } from '../../../api/openapi/docs.ts';

const baseUrl = 'https://rides.example.org/api';

async function get(url: string, options: Partial<DocsOptions> = {}, headers: Record<string, string> = {}) {
  const app = Fastify();
  registerDocs(app, { baseUrl, ...options });
  const answer = await app.inject({ url, headers });
  await app.close();
  return answer;
}

/** Addresses that a page loads. */
const loaded = (html: string): string[] =>
  [...html.matchAll(/<(?:script|link)\b[^>]*(?:src|href)="([^"]+)"/g)].map((m) => m[1]!);

// docs/rules.md#other-paths, #cors
it.each([
  ['/', {}, 302, 'docs'],
  ['/', { home: 'calendar' }, 302, 'calendar'],
  ['/docs/', {}, 308, '../docs'],
])('%s of %j leads on: %i to %s', async (url, options, status, to) => {
  const { statusCode, headers } = await get(url, options);
  expect([statusCode, headers.location, headers['access-control-allow-origin']]).toEqual([status, to, '*']);
});

describe('/docs', () => {
  it('loads its scripts and styles from below itself alone, where they may be kept for ever', async () => {
    const page = await get('/docs', { sampleKey: 'rck_sample' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const rules = ["default-src 'none'", "script-src 'self'", "connect-src 'self' https://rides.example.org"];
    for (const place of ['base-uri', 'form-action', 'frame-ancestors']) rules.push(`${place} 'none'`);
    rules.push("style-src 'self' 'unsafe-inline'", "img-src 'self' data:");
    expect(page.headers['content-security-policy']).toBe(rules.join('; '));
    expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
    expect(page.body).not.toMatch(/<script(?![^>]* src=)| on[a-z]+="/);
    const addresses = loaded(page.body);
    expect(addresses).toHaveLength(5);
    const utf8 = '; charset=utf-8';
    const types: Record<string, string> = { css: `text/css${utf8}`, js: `text/javascript${utf8}`, png: 'image/png' };
    for (const address of addresses) {
      expect(address).toMatch(/^docs\/[\w-]{16}\/[a-z0-9-]+\.(js|css|png)$/);
      const { statusCode, headers } = await get(`/${address}`);
      expect([statusCode, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
      const type = types[address.split('.').at(-1)!];
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'content-type': type });
    }
  });

  it('tells how to get a key, or shows the sample key, and takes no option for markup', async () => {
    const plain = await get('/docs');
    expect(plain.body).toContain('developer keys');
    const filled: Partial<DocsOptions> = { sampleKey: 'rck_sample', sample: { metro: 'x', ride: '"><script src=x>' } };
    const { body, headers } = await get('/docs', filled);
    expect(headers.etag).not.toBe(plain.headers.etag);
    expect(body).toContain('<code>rck_sample</code>');
    // As OAuth knows this page.
    expect(body).toContain('data-client-id="docs"');
    expect(body).toContain("curl -H 'X-Api-Key: rck_sample' ");
    expect(body).not.toContain('<script src=x>');
    expect(body).toContain('data-ride="&#34;&#62;&#60;script src=x&#62;"');
  });

  it('shows the first request and an answer to it, and links to guides whose links lead to what is served', async () => {
    const { body } = await get('/docs');
    expect(body).toContain('https://rides.example.org/api/metros/portland/days/2026-06-13</code>');
    expect(body).toContain('&#34;title&#34;: &#34;Taco Ride&#34;');
    const links = new Set(['rider-app-example.html', 'spring-security-example.yaml']);
    for (const name of ['website', 'night-times', 'sign-in', 'oidc-client-ts', 'better-auth'])
      links.add(`${name}-example.js`);
    const guides = [...body.matchAll(/href="docs\/([\w-]+\.md)"/g)].map(([, name]) => name!);
    expect(guides).toHaveLength(5);
    for (const name of guides) {
      const guide = await get(`/docs/${name}`);
      expect([guide.headers['content-type'], guide.body[0]]).toEqual(['text/plain; charset=utf-8', '#']);
      for (const [, to] of guide.body.matchAll(/\]\((?!https?:)([^)#]+)/g)) links.add(to!);
      for (const [, path] of guide.body.matchAll(/\(([\w./-]+) in the repository\)/g))
        expect(existsSync(new URL(`../../../${path}`, import.meta.url)), path).toBe(true);
    }
    for (const link of links) expect([link, (await get(`/docs/${link}`)).statusCode]).toEqual([link, 200]);
  });

  // docs/rules.md#cors
  it('and its files, which hold the key, are for pages of this origin alone, unchanged ones too', async () => {
    const { body, headers } = await get('/docs', { sampleKey: 'rck_sample' });
    for (const path of ['/docs', '/docs/oauth2-redirect.html', ...loaded(body).map((address) => `/${address}`)]) {
      const answer = await get(path, { sampleKey: 'rck_sample' }, { 'If-None-Match': headers.etag as string });
      expect([path, answer.headers['cross-origin-resource-policy']]).toEqual([path, 'same-origin']);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('has a page for coming back from signing in, which tells no other host of the code', async () => {
    const page = await get('/docs/oauth2-redirect.html?code=abc');
    expect(page.headers['referrer-policy']).toBe('no-referrer');
    const [script] = loaded(page.body.replaceAll('src="', 'src="/docs/'));
    expect((await get(script!)).statusCode).toBe(200);
  });
});
