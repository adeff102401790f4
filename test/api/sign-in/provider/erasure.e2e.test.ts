import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StateStore, StateStoreAwayError } from '../../../../api/ports/sign-in-state.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { redisSignInState } from '../../../../infra/redis/sign-in/redis-sign-in-state.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import {
  approve,
  authorizeUrl,
  type Client,
  codeFor,
  nights,
  redeem,
  refresh,
  register,
  signedIn,
  type TokenAnswer,
} from '../../../support/sign-in/sign-in-flow.ts';
import {
  sampleRiders,
  startSignInService,
  type TestService,
  testRiders,
} from '../../../support/sign-in/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

// docs/rules.md#ended-tokens
describe.each([
  ['memory', () => memorySignInState()],
  ['Redis', () => redisSignInState({ url: redisUrl(), keyPrefix: freshKeyPrefix() })],
])('a rider who is erased, with state in %s,', (_, makeStore) => {
  let service: TestService;
  let origin: string;
  let store: StateStore;
  let number = 0;
  // Each test erases a rider of its own.
  const ids = Array.from({ length: 16 }, (_, i) => `rider-${i}`);
  const nextRider = () => ids[number++]!;
  beforeAll(async () => {
    store = makeStore();
    const riders = testRiders([...ids.map((rider) => ({ rider, handle: rider, name: null })), ...sampleRiders]);
    service = await startSignInService({ store, riders });
    origin = service.origin;
  });
  afterAll(async () => {
    await service.close();
  });

  test('redeems no code', async () => {
    const rider = nextRider();
    const client = await register(origin);
    const pkce = newPkce();
    const end = await approve(new TestBrowser(origin), authorizeUrl(origin, client, pkce), rider);
    service.riders.erase(rider);
    const answer = await redeem(origin, client, end.searchParams.get('code')!, pkce.verifier);
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  test('leaves nothing behind, and takes nothing of others along', async () => {
    const rider = nextRider();
    const [gone, other] = [await signedIn(origin, rider), await signedIn(origin, 'rider-ada')];
    expect((await store.ofAccount(rider)).map(({ kind }) => kind).sort()).toEqual(
      expect.arrayContaining(['Grant', 'RefreshToken', 'Session']),
    );
    service.riders.erase(rider);
    await service.signIn.eraseRider(rider);
    await service.signIn.eraseRider(rider);
    expect(await store.ofAccount(rider)).toEqual([]);
    const accounts = new Set<string>();
    for await (const each of store.accounts()) accounts.add(each);
    expect([accounts.has(rider), accounts.has('rider-ada')]).toEqual([false, true]);
    expect((await refresh(origin, gone.client, gone.tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(origin, other.client, other.tokens.refresh_token)).status).toBe(200);
  });

  test('is found by the sweep, unless it is not known who exists', async () => {
    const rider = nextRider();
    await signedIn(origin, rider);
    const other = await signedIn(origin, 'rider-bo');
    service.riders.erase(rider);
    service.riders.away = true;
    await expect(service.signIn.sweep()).rejects.toThrow('away');
    service.riders.away = false;
    expect(await store.ofAccount(rider)).not.toEqual([]);
    await service.signIn.sweep();
    expect(await store.ofAccount(rider)).toEqual([]);
    expect((await refresh(origin, other.client, other.tokens.refresh_token)).status).toBe(200);
  });

  test('is asked to sign in anew where a browser still has their session', async () => {
    const rider = nextRider();
    const client = await register(origin);
    const browser = new TestBrowser(origin);
    await approve(browser, authorizeUrl(origin, client, newPkce()), rider);
    service.riders.erase(rider);
    const at = await browser.open(authorizeUrl(origin, client, newPkce()));
    expect([at.response.status, at.page]).toEqual([200, expect.stringContaining('Pick any rider')]);
    const picked = await browser.follow(
      await browser.post(at.url, { do: 'pick', rider: 'rider-ada', csrf: csrfOf(at.page) }),
    );
    expect(await picked.response.text()).toContain('Ada Lovelace');
  });

  // docs/rules.md#republished-rider
  test('is signed out of everything for good, also once the id is published again', async () => {
    const rider = nextRider();
    const { client, tokens } = await signedIn(origin, rider);
    const other = await register(origin);
    const { code, pkce } = await codeFor(origin, other, {}, rider);
    const browser = new TestBrowser(origin);
    const asked = await consentPage(origin, browser, await register(origin), rider);
    const pickedOnly = new TestBrowser(origin);
    const login = await loggedIn(origin, pickedOnly, await register(origin), rider);
    service.riders.erase(rider);
    await service.signIn.eraseRider(rider);
    expect((await nights(service.baseUrl, tokens.access_token)).status).toBe(401);
    service.riders.publish(rider);

    expect((await refresh(origin, client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await redeem(origin, other, code, pkce.verifier)).body.error).toBe('invalid_grant');
    const allowed = await browser.follow(await browser.post(asked.url, { do: 'allow', csrf: csrfOf(asked.page) }));
    expect(allowed.url).not.toContain('code=');
    const resumed = await pickedOnly.follow(login);
    expect([resumed.response.status, resumed.url]).toEqual([400, expect.not.stringContaining('code=')]);
    for (const each of [browser, pickedOnly])
      expect((await each.open(authorizeUrl(origin, client, newPkce()))).page).toContain('Pick any rider');
    expect(await store.ofAccount(rider)).toEqual([]);
  });

  const status = {
    'a rider’s own read': async ({ access_token: token }: TokenAnswer) => (await nights(service.baseUrl, token)).status,
    'a public read': async ({ access_token: token }: TokenAnswer) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`${service.baseUrl}/rides/abcd`, { headers })).status;
    },
    'a refresh': async ({ refresh_token: token }: TokenAnswer, client: Client) =>
      (await refresh(origin, client, token)).status,
  };
  test.each([
    ['a rider’s own read', 401],
    ['a public read', 401],
    ['a refresh', 400],
  ] as const)('is ended by whatever sees first that they are gone: %s', async (name, refused) => {
    const rider = nextRider();
    const { client, tokens } = await signedIn(origin, rider);
    service.riders.erase(rider);
    expect(await status[name](tokens, client)).toBe(refused);
    service.riders.publish(rider);
    await expect.poll(() => store.ofAccount(rider)).toEqual([]);
    expect((await refresh(origin, client, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('and is back before anybody could see it keeps what they had', async () => {
    const rider = nextRider();
    const { client, tokens } = await signedIn(origin, rider);
    service.riders.erase(rider);
    service.riders.publish(rider);
    await service.signIn.sweep();
    expect((await nights(service.baseUrl, tokens.access_token)).status).toBe(200);
    expect((await refresh(origin, client, tokens.refresh_token)).status).toBe(200);
  });
});

/** The address that goes on after a rider was picked, not yet opened. */
async function loggedIn(origin: string, browser: TestBrowser, client: Client, rider: string): Promise<Response> {
  const first = await browser.open(authorizeUrl(origin, client, newPkce()));
  return await browser.post(first.url, { do: 'pick', rider, csrf: csrfOf(first.page) });
}

async function consentPage(origin: string, browser: TestBrowser, client: Client, rider: string) {
  const asked = await browser.follow(await loggedIn(origin, browser, client, rider));
  return { url: asked.url, page: await asked.response.text() };
}

test('what can’t be destroyed at once is destroyed later, though the rider is back', async () => {
  const state = redisSignInState({ url: redisUrl(), keyPrefix: freshKeyPrefix() });
  let away = true;
  const store: StateStore = {
    ...state,
    async remove(kind, id) {
      if (away && kind === 'Grant') throw new StateStoreAwayError('away');
      await state.remove(kind, id);
    },
  };
  const service = await startSignInService({ store, sweepDelayMs: 50 });
  const { client, tokens } = await signedIn(service.origin, 'rider-ada');
  service.riders.erase('rider-ada');
  await service.signIn.eraseRider('rider-ada');
  service.riders.publish('rider-ada');
  expect(await store.ofAccount('rider-ada')).not.toEqual([]);
  away = false;
  await expect.poll(() => store.ofAccount('rider-ada')).toEqual([]);
  expect((await refresh(service.origin, client, tokens.refresh_token)).body.error).toBe('invalid_grant');
  await service.close();
});

test('what is written in the midst of an erasure does not outlive it', async () => {
  const state = memorySignInState();
  let erase = async (): Promise<void> => {};
  const store: StateStore = {
    ...state,
    async put(kind, ...rest) {
      if (kind === 'RefreshToken') await erase();
      await state.put(kind, ...rest);
    },
  };
  const service = await startSignInService({ store });
  const { client, tokens } = await signedIn(service.origin, 'rider-ada');
  erase = async () => {
    service.riders.erase('rider-ada');
    await service.signIn.eraseRider('rider-ada');
  };
  await refresh(service.origin, client, tokens.refresh_token);
  await expect.poll(() => store.ofAccount('rider-ada')).toEqual([]);
  await service.close();
});

test('while it is not known who exists, riders are told to come back, and nobody is signed out', async () => {
  const service = await startSignInService();
  const { tokens } = await signedIn(service.origin);
  const client = await register(service.origin);
  const browser = new TestBrowser(service.origin);
  const at = await browser.open(authorizeUrl(service.origin, client, newPkce()));
  const pick = async () => await browser.post(at.url, { do: 'pick', rider: 'rider-ada', csrf: csrfOf(at.page) });
  service.riders.away = true;
  expect((await nights(service.baseUrl, tokens.access_token)).status).not.toBe(401);
  const away = await pick();
  expect([away.status, away.headers.get('retry-after'), await away.text()]).toEqual([
    503,
    '60',
    expect.stringContaining('not available right now'),
  ]);
  service.riders.away = false;
  const picked = await pick();
  service.riders.away = true;
  // On the way to consent: the same page, loaded again, goes on.
  expect((await browser.follow(picked)).response.status).toBe(503);
  service.riders.away = false;
  const asked = await browser.follow(picked);
  service.riders.away = true;
  expect((await browser.open(asked.url)).response.status).toBe(503);
  const again = await browser.open(authorizeUrl(service.origin, client, newPkce()));
  expect([again.response.status, again.page]).toEqual([503, expect.stringContaining('not available right now')]);
  service.riders.away = false;
  expect((await browser.open(asked.url)).page).toContain('Ada Lovelace');
  await service.close();
});
