import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';

import { type DocsOptions, registerDocs } from '../../../api/openapi/docs.ts';

const openapiUrl = 'https://rides.example.org/api/openapi.json';

async function get(url: string, options: Partial<DocsOptions> = {}) {
  const app = Fastify();
  registerDocs(app, { openapiUrl, ...options });
  const answer = await app.inject(url);
  await app.close();
  return answer;
}

/** Addresses that a page loads. */
const loaded = (html: string): string[] =>
  [...html.matchAll(/<(?:script|link)\b[^>]*(?:src|href)="([^"]+)"/g)].map((m) => m[1]!);

describe('/docs', () => {
  it('loads its scripts and styles from below itself, where they may be kept for ever', async () => {
    const page = await get('/docs');
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
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
    const policy = String((await get('/docs')).headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("connect-src 'self' https://rides.example.org;");
    const relative = String(
      (await get('/docs', { openapiUrl: '/api/openapi.json' })).headers['content-security-policy'],
    );
    expect(relative).toContain("connect-src 'self';");
  });

  it('has nothing but files as scripts', async () => {
    const { body } = await get('/docs', { sampleKey: 'rck_sample', oauthClientId: 'docs' });
    expect(body).not.toMatch(/<script(?![^>]* src=)/);
    expect(body).not.toMatch(/ on[a-z]+="/);
  });

  it('tells how to get a key, or shows the sample key', async () => {
    expect((await get('/docs')).body).toContain('developer keys');
    const { body } = await get('/docs', { sampleKey: 'rck_sample' });
    expect(body).toContain('<code>rck_sample</code>');
    expect(body).toContain('data-key="rck_sample"');
  });

  it('takes no option for markup', async () => {
    const { body } = await get('/docs', { oauthClientId: '"><script src=x>', sample: { metro: "<b>'&" } });
    expect(body).not.toContain('<script src=x>');
    expect(body).not.toContain("<b>'&");
    expect(body).toContain('data-client-id="&#34;&#62;&#60;script src=x&#62;"');
  });

  it('with a slash at its end leads to itself', async () => {
    const answer = await get('/docs/');
    expect([answer.statusCode, answer.headers.location]).toEqual([308, '../docs']);
  });

  it('has a page for coming back from signing in, which tells no other host of the code', async () => {
    const page = await get('/docs/oauth2-redirect.html?code=abc');
    expect(page.headers['referrer-policy']).toBe('no-referrer');
    const [script] = loaded(page.body.replaceAll('src="', 'src="/docs/'));
    expect((await get(script!)).statusCode).toBe(200);
  });
});
