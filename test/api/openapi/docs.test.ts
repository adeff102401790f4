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

describe('/docs', () => {
  it('loads its scripts and styles from below itself, where they may be kept for ever', async () => {
    const page = await get('/docs', { sampleKey: 'rck_sample' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).not.toMatch(/<script(?![^>]* src=)| on[a-z]+="/);
    const addresses = loaded(page.body);
    expect(addresses).toHaveLength(5);
    for (const address of addresses) {
      expect(address).toMatch(/^docs\/[\w-]{16}\/[a-z0-9-]+\.(js|css|png)$/);
      const asset = await get(`/${address}`);
      expect(asset.statusCode).toBe(200);
      expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(asset.headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it('may run only its own scripts, and ask only this service', async () => {
    const policy = (await get('/docs')).headers['content-security-policy'];
    expect(policy).toContain("default-src 'none'; script-src 'self'; connect-src 'self' https://rides.example.org;");
  });

  it('tells how to get a key, or shows the sample key, and takes no option for markup', async () => {
    expect((await get('/docs')).body).toContain('developer keys');
    const options = { sampleKey: 'rck_sample', sample: { metro: "<b>'&", ride: '"><script src=x>' } };
    const { body } = await get('/docs', options);
    expect(body).toContain('<code>rck_sample</code>');
    expect(body).not.toContain('<script src=x>');
    expect(body).not.toContain("<b>'&");
    expect(body).toContain('data-ride="&#34;&#62;&#60;script src=x&#62;"');
  });

  it('shows the first request and an answer to it, and links to the guides, whose text it has', async () => {
    const { body } = await get('/docs');
    expect(body).toContain('https://rides.example.org/api/metros/portland/days/2026-06-13</code>');
    expect(body).toContain('&#34;title&#34;: &#34;Taco Ride&#34;');
    const guides = [...body.matchAll(/href="(docs\/[\w-]+\.md)"/g)].map(([, path]) => `/${path}`);
    expect(guides).toHaveLength(5);
    for (const path of guides) {
      const guide = await get(path);
      expect([guide.headers['content-type'], guide.body[0]]).toEqual(['text/plain; charset=utf-8', '#']);
    }
  });

  it('has guides whose links lead to what is served, and which name the other files of the repository', async () => {
    const { body } = await get('/docs');
    const links: string[] = [];
    for (const [, guide] of body.matchAll(/href="docs\/([\w-]+\.md)"/g)) {
      const text = (await get(`/docs/${guide}`)).body;
      links.push(...[...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, to]) => to!));
      for (const [, path] of text.matchAll(/\(([\w./-]+) in the repository\)/g)) {
        expect(existsSync(new URL(`../../../${path}`, import.meta.url)), path).toBe(true);
      }
    }
    expect(links).toEqual(
      expect.arrayContaining(['website-example.js', 'rider-app-example.html', 'night-times-example.js']),
    );
    for (const link of new Set(links)) expect([link, (await get(`/docs/${link}`)).statusCode]).toEqual([link, 200]);
  });

  it('with a slash at its end leads to itself', async () => {
    const answer = await get('/docs/');
    expect([answer.statusCode, answer.headers.location]).toEqual([308, '../docs']);
  });

  // docs/rules.md#cors
  it('and its files, which hold the key, are for pages of this origin alone, unchanged ones too', async () => {
    const { body, headers } = await get('/docs', { sampleKey: 'rck_sample' });
    const paths = ['/docs', '/docs/oauth2-redirect.html', ...loaded(body).map((address) => `/${address}`)];
    for (const path of paths) {
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
