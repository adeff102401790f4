import { expect, test } from 'vitest';
import { DocumentAwayError } from '../../../../api/ports/metadata-fetch.ts';
import { documentFetch } from '../../../../api/sign-in/clients/document-fetch.ts';
import { rateLimits } from '../../../../api/sign-in/limits/rate-limit.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';

const id = 'https://client.example/client.json';

/** A host of documents that gives one answer. */
function host(answer: () => Response = () => Response.json({ client_id: id, client_name: 'App' })) {
  const seen = { fetched: 0, from: '192.0.2.1' };
  const read = documentFetch({
    fetchPublic: async () => {
      seen.fetched++;
      return answer();
    },
    limits: rateLimits(memorySignInState()),
    clientAddress: () => seen.from,
  });
  return { seen, read };
}

test('a document keeps the members that have a meaning here, and the headers that say how long it holds', async () => {
  const { read } = host(() =>
    Response.json(
      { client_id: id, client_name: 'App', jwks_uri: 'https://client.example/keys', scope: 'openid' },
      { headers: { 'cache-control': 'max-age=60' } },
    ),
  );
  const response = await read(id);
  expect(response.headers.get('cache-control')).toBe('max-age=60');
  expect(await response.json()).toEqual({
    client_id: id,
    client_name: 'App',
    application_type: 'web',
    token_endpoint_auth_method: 'none',
  });
});

test.each([
  ['no JSON', '{', 'application/json'],
  ['a list', '[]', 'application/json'],
  ['another type', '{}', 'text/plain'],
])('a document that is %s is wrong, and not away', async (_, body, type) => {
  const { read } = host(() => new Response(body, { headers: { 'content-type': type } }));
  await expect(read(id)).rejects.not.toBeInstanceOf(DocumentAwayError);
});

test('a document whose host has a fault is away, one that is not there is not', async () => {
  await expect(host(() => new Response(null, { status: 503 })).read(id)).rejects.toBeInstanceOf(DocumentAwayError);
  expect((await host(() => new Response(null, { status: 404 })).read(id)).status).toBe(404);
});

test('fetches are limited by the address that asks, by host, by document and in all', async () => {
  const { seen, read } = host();
  const many = async (count: number, url: (i: number) => string, from: (i: number) => string) => {
    const before = seen.fetched;
    for (let i = 0; i < count; i++) {
      seen.from = from(i);
      await read(url(i)).catch((error: unknown) => expect(error).toBeInstanceOf(DocumentAwayError));
    }
    return seen.fetched - before;
  };
  const address = (i: number) => `198.51.${i >> 8}.${i & 255}`;
  const one = () => '192.0.2.1';
  expect(await many(100, (i) => `https://app-${i}.example/`, one)).toBe(60);
  expect(await many(100, () => 'https://one.example/', address)).toBe(30);
  expect(await many(100, (i) => `https://host.example:${1000 + i}/${i}`, address)).toBe(60);
  expect(await many(2000, (i) => `https://all-${i}.example/`, address)).toBe(450);
});

test('a client id of more than 1,000 characters is not fetched', async () => {
  const { seen, read } = host();
  await expect(read(`https://app.example/${'x'.repeat(1000)}`)).rejects.toThrow('more than 1000 characters');
  expect(seen.fetched).toBe(0);
});
