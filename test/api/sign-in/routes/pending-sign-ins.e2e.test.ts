import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { approve, authorizeUrl, type Client, callback, register } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const keyPrefix = freshKeyPrefix();
let service: TestService;
let redis: Redis;
let client: Client;
beforeAll(async () => {
  service = await startSignInService({
    store: redisSignInState({ url: redisUrl(), keyPrefix }),
    clients: [{ client_id: 'named', token_endpoint_auth_method: 'none', redirect_uris: [callback] }],
  });
  redis = new Redis(redisUrl());
  client = await register(service.origin);
});
afterAll(async () => {
  await service.close();
  redis.disconnect();
});

const begin = (more: Record<string, string>, by = client) =>
  fetch(authorizeUrl(service.origin, by, newPkce(), more), { redirect: 'manual' });
const pending = () => redis.keys(`${keyPrefix}*:Interaction:*`);

test('a state of 1,000 characters comes back as it was sent', async () => {
  const state = 'ab~é'.padEnd(1000, 'x');
  const url = authorizeUrl(service.origin, client, newPkce(), { state });
  expect((await approve(new TestBrowser(service.origin), url)).searchParams.get('state')).toBe(state);
});

test.each([
  ['a state', { state: 's'.repeat(1001) }, 'state must have at most 1000 characters'],
  ['a state of 7,600 characters', { state: 's'.repeat(7600) }, 'state must have at most 1000 characters'],
  ['a prompt', { prompt: Array(1000).fill('login').join(' ') }, 'prompt must have at most 1000 characters'],
])('%s that is too long is an error with that reason, and nothing of it is kept', async (_, more, reason) => {
  const before = await pending();
  // The operator's client: a stranger's errors are shown, not sent on.
  const answer = await begin(more, { client_id: 'named' });
  const location = new URL(answer.headers.get('location') ?? '');
  expect([location.origin + location.pathname, location.searchParams.get('error')]).toEqual([
    callback,
    'invalid_request',
  ]);
  expect(location.searchParams.get('error_description')).toBe(reason);
  expect(location.searchParams.get('state')).toBe('state' in more ? more.state : 'the-state');
  expect(await pending()).toEqual(before);
});

test('a pending sign-in is small in Redis, whatever it is begun with', async () => {
  const long = 'n'.repeat(5000);
  const names = [
    'nonce',
    'max_age',
    'login_hint',
    'id_token_hint',
    'ui_locales',
    'claims_locales',
    'acr_values',
    'display',
  ];
  const scope = Array(1000).fill('read').join(' ');
  for (const [name, value] of [...[...names, 'claims', 'made_up'].map((name) => [name, long]), ['scope', scope]]) {
    const before = new Set(await pending());
    const answer = await begin({ state: 's'.repeat(1000), [name!]: value! });
    expect([name, answer.status, answer.headers.get('location')]).toEqual([
      name,
      303,
      expect.stringContaining('/oauth/sign-in/'),
    ]);
    const added = (await pending()).filter((key) => !before.has(key));
    expect(added).toHaveLength(1);
    expect(await redis.memory('USAGE', added[0]!)).toBeLessThan(3000);
  }
});
