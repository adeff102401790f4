import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StateStore } from '../../../../api/ports/sign-in-state.ts';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { riderErasure } from '../../../../api/sign-in/provider/rider-erasure.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { approve, nights, type SignedIn } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, testRiders } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, nextOf, type Opened, TestBrowser } from '../../../support/sign-in/test-browser.ts';

// docs/rules.md#ended-tokens
const memory = memorySignInState();
/** Accounts of which nothing that is stored has the name any more. */
const tidied: string[] = [];
let beforeToken = async (): Promise<void> => {};
const store: StateStore = {
  ...memory,
  async put(kind, ...rest) {
    if (kind === 'RefreshToken') await beforeToken();
    await memory.put(kind, ...rest);
  },
  async tidyAccount(account) {
    await memory.tidyAccount(account);
    tidied.push(account);
  },
};
let number = 0;
// Each test erases a rider of its own.
const ids = Array.from({ length: 16 }, (_, i) => `rider-${i}`);
const nextRider = () => ids[number++]!;
const service = await startSignInService({ store, riders: testRiders(ids) });
const { origin, register, authorizeUrl, codeFor, redeem, refresh, signedIn } = service;
const begin = async (browser: TestBrowser) => browser.open(authorizeUrl(await register(), newPkce()));

describe('a rider who is erased', () => {
  test('is found by the sweep, unless it is not known who exists', async () => {
    const rider = nextRider();
    await signedIn(rider);
    const other = await signedIn('rider-bo');
    service.riders.erase(rider);
    service.riders.away = true;
    await expect(service.signIn.sweep()).rejects.toThrow('away');
    service.riders.away = false;
    expect(await store.ofAccount(rider)).not.toEqual([]);
    await service.signIn.sweep();
    expect(await store.ofAccount(rider)).toEqual([]);
    expect(tidied).toEqual([rider]);
    expect((await refresh(other.client, other.tokens.refresh_token)).status).toBe(200);
  });

  test('is asked to sign in anew where a browser still has their session', async () => {
    const [rider, client, browser] = [nextRider(), await register(), new TestBrowser(origin)];
    await approve(browser, authorizeUrl(client), rider);
    service.riders.erase(rider);
    expect((await browser.open(authorizeUrl(client))).page).toContain('Pick any rider');
  });

  // docs/rules.md#republished-rider
  test('is signed out of everything for good, also once the id is published again', async () => {
    const rider = nextRider();
    const { client, tokens } = await signedIn(rider);
    const other = await register();
    const { code, pkce } = await codeFor(other, {}, rider);
    const browser = new TestBrowser(origin);
    const asked = await browser.submit((await begin(browser)).url, { do: 'pick', rider });
    const pickedOnly = new TestBrowser(origin);
    const login = await pickedOnly.post((await begin(pickedOnly)).url, { do: 'pick', rider });
    const signedInBefore = new TestBrowser(origin);
    await approve(signedInBefore, authorizeUrl(client), rider);
    await begin(signedInBefore);
    // Each of the three pending sign-ins is known to be theirs.
    expect(await store.ofAccount(rider, 'Interaction')).toHaveLength(3);
    service.riders.erase(rider);
    await service.signIn.eraseRider(rider);
    expect((await nights(service.baseUrl, tokens.access_token)).status).toBe(401);
    service.riders.publish(rider);

    expect((await refresh(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
    expect((await redeem(other, code, pkce.verifier)).body.error).toBe('invalid_grant');
    expect((await browser.submit(asked.url, { do: 'allow' })).url).not.toContain('code=');
    const resumed = await pickedOnly.open(nextOf(await login.text())!);
    const over = expect.stringContaining('This sign-in is over');
    expect([resumed.response.status, resumed.page]).toEqual([400, over]);
    for (const each of [browser, pickedOnly]) expect((await begin(each)).page).toContain('Pick any rider');
    expect(await store.ofAccount(rider)).toEqual([]);
  });

  test.each<[string, number, (of: SignedIn) => Promise<{ status: number }>]>([
    ['a rider’s own read', 401, ({ tokens }) => nights(service.baseUrl, tokens.access_token)],
    ['a refresh', 400, ({ tokens, client }) => refresh(client, tokens.refresh_token)],
    ['a code', 400, ({ code, pkce, client }) => redeem(client, code, pkce.verifier)],
  ])('is ended by whatever sees first that they are gone: %s', async (_, refused, see) => {
    const rider = nextRider();
    const { client, tokens } = await signedIn(rider);
    const unused = await codeFor(client, {}, rider);
    service.riders.erase(rider);
    expect((await see({ client, tokens, ...unused })).status).toBe(refused);
    const cause = { client: client.client_id, cause: 'grant_revoked' };
    if (refused === 400) expect(service.told.at(-1)).toEqual(['token_request_refused', cause]);
    service.riders.publish(rider);
    await expect.poll(() => store.ofAccount(rider)).toEqual([]);
    expect((await refresh(client, tokens.refresh_token)).body.error).toBe('invalid_grant');
  });

  test('and is back before anybody could see it keeps what they had', async () => {
    const rider = nextRider();
    const { client, tokens } = await signedIn(rider);
    service.riders.erase(rider);
    service.riders.publish(rider);
    await service.signIn.sweep();
    expect((await nights(service.baseUrl, tokens.access_token)).status).toBe(200);
    expect((await refresh(client, tokens.refresh_token)).status).toBe(200);
  });
});

test('what is written in the midst of an erasure does not outlive it', async () => {
  const rider = nextRider();
  const { client, tokens } = await signedIn(rider);
  beforeToken = async () => {
    service.riders.erase(rider);
    await service.signIn.eraseRider(rider);
  };
  await refresh(client, tokens.refresh_token);
  beforeToken = async () => {};
  await expect.poll(() => store.ofAccount(rider)).toEqual([]);
});

test('while it is not known who exists, riders are told to come back, and nobody is signed out', async () => {
  const { client, tokens } = await signedIn();
  const browser = new TestBrowser(origin);
  const request = authorizeUrl(client);
  const { url } = await browser.open(request);
  const pick = () => browser.submit(url, { do: 'pick', rider: 'rider-ada' });
  const expectAway = ({ response, page }: Opened) =>
    expect([response.status, page]).toEqual([503, expect.stringContaining('not available right now')]);
  service.riders.away = true;
  expect((await nights(service.baseUrl, tokens.access_token)).status).toBe(503);
  const away = await pick();
  expectAway(away);
  expect(away.response.headers.get('retry-after')).toBe('60');
  service.riders.away = false;
  const asked = await pick();
  service.riders.away = true;
  expectAway(await browser.open(asked.url));
  expectAway(await browser.open(request));
  service.riders.away = false;
  expect((await browser.open(asked.url)).page).toContain('Ada Lovelace');
});

/** An erasure of riders of whom `card` knows, over a store with a grant of one of them, as time is moved on. */
async function startErasure(card: () => Promise<{ handle: string; name: null } | null>, sweepDelayMs?: number) {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const memory = memorySignInState();
  const grant = (id: string, account: string) => memory.put('Grant', id, {}, { lifeSeconds: 60, account });
  await grant('one', 'rider-ada');
  const [said, store]: [string[], { away: boolean }] = [[], { away: false }];
  const erasure = riderErasure({
    store: {
      ...memory,
      async remove(kind, id) {
        if (store.away) throw new StoreAwayError('away');
        await memory.remove(kind, id);
      },
    },
    riders: { card },
    logger: { info: () => undefined, warn: (line: unknown) => void said.push(String(line)) },
    sweepDelayMs,
  });
  return { erasure, grant, said, store, ofAda: () => memory.ofAccount('rider-ada') };
}

// docs/rules.md#ended-tokens
test('a sweep that fails is repeated until it succeeds, is not put off by those who ask, and one line says so', async () => {
  let asked = 0;
  const { erasure, grant, said, ofAda } = await startErasure(async () => {
    if (++asked <= 3) throw new Error('the views are away');
    return null;
  }, 5);
  for (let ms = 0; ms < 5; ms++) {
    erasure.sweepSoon();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(15);
  expect([asked, await ofAda()]).toEqual([4, []]);
  expect(said).toEqual(['Cannot destroy the grants of erased riders, trying again: the views are away']);
  erasure.sweepSoon();
  erasure.close();
  await grant('two', 'rider-bo');
  erasure.sweepSoon();
  await vi.advanceTimersByTimeAsync(20);
  expect(asked).toBe(4);
});

// docs/rules.md#republished-rider
test('an erasure that the store could not finish is finished later, though the rider is back', async () => {
  const { erasure, grant, store, ofAda } = await startErasure(async () => ({ handle: 'ada', name: null }));
  store.away = true;
  await erasure.eraseRider('rider-ada');
  expect(await ofAda()).toHaveLength(1);
  store.away = false;
  // docs/oauth.md#erased-riders: within seconds.
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await ofAda()).toEqual([]);
  // It is finished: what they are given from now on is theirs.
  await grant('two', 'rider-ada');
  await erasure.sweep();
  expect(await ofAda()).toHaveLength(1);
});
