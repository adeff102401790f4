import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { StatePayload } from '../../ports/sign-in-state.ts';
import { StoreAwayError } from '../../ports/view-reader.ts';
import { withHashedSecret } from '../clients/client-secrets.ts';
import { grantClaim } from '../tokens/access-token.ts';
import { keysById, verifyAccessToken } from '../tokens/token-checker.ts';
import { lifetimes } from './lifetimes.ts';
import type { ProviderOptions } from './provider-options.ts';
import { accessTokenMark } from './provider-requests.ts';
import type { RiderErasure } from './rider-erasure.ts';
import { isBearer, storeId } from './sealed-store.ts';

/** The kind under which clients that registered themselves are stored. Other clients are stored elsewhere. */
export const clientKind = 'Client';

/** oidc-provider's adapter interface over the state store. */
export function providerAdapter(kind: string, options: ProviderOptions, erasure: RiderErasure): Adapter {
  const { store, audit } = options;

  // If the views are away, oidc-provider finds that out when it asks for the account.
  const isGone = async (rider: string | undefined): Promise<boolean> =>
    rider !== undefined && (await erasure.isGone(rider).catch(() => false));

  const find = async (id: string): Promise<AdapterPayload | undefined> => {
    // Access tokens are not stored. One says itself what it is, when its app revokes it.
    if (kind === 'AccessToken')
      return id.startsWith(accessTokenMark) ? await revocable(id.slice(accessTokenMark.length), options) : undefined;
    const payload = await store.find(kind, storeId(kind, id));
    return payload ? { ...payload, ...(isBearer(kind) && { jti: id }) } : undefined;
  };

  // The session of an erased rider counts as none. A sign-in that begins with it would be destroyed along with it.
  const unlessGone = async (session: AdapterPayload | undefined): Promise<AdapterPayload | undefined> =>
    kind === 'Session' && (await isGone(session?.accountId)) ? undefined : session;

  /**
   * oidc-provider calls this for each use of a code or refresh token (docs/rules.md#code-flow). The store decides in one
   * step, so of several requests at a time exactly one is the first. Within ten seconds of that one, the second and third
   * use of a refresh token pass too, and any other use is refused. Later, a use is a replay and ends the grant, also if
   * the limit is reached: a thief who used up the window must not keep the replay from being found.
   */
  const consume = async (id: string): Promise<void> => {
    const key = storeId(kind, id);
    const { accountId, clientId: client, grantId } = ((await store.find(kind, key)) ?? {}) as AdapterPayload;
    // Asked before the use is counted: if the views are away, this throws, and the app can redeem the code again.
    if (kind === 'AuthorizationCode' && (await erasure.isGone(accountId!)))
      throw new errors.InvalidGrant('the rider is gone');
    const graceMs = lifetimes.reuse * 1000;
    const isRefresh = kind === 'RefreshToken';
    const used = await store.use(
      kind,
      key,
      isRefresh ? { graceMs, max: refreshUsesMax, limit: { ...refreshLimit, key: grantId! } } : { graceMs, max: 1 },
    );
    if (isRefresh && (used?.was === 'again' || used?.was === 'refused')) audit('refresh_reused', { client });
    switch (used?.was) {
      case 'first':
      case 'again':
        return;
      case 'limited': {
        audit('refresh_limited', { client });
        const retryAfter = Math.max(1, Math.ceil(used.waitMs / 1000));
        throw tryAgain(429, `too many refreshes of one connection; try again in ${retryAfter} seconds`, { retryAfter });
      }
      case 'late':
        audit('replay_found', { client, cause: isRefresh ? 'refresh_token' : 'code' });
        await store.remove('Grant', grantId!);
        audit('grant_ended', { client, cause: 'replay' });
    }
    throw new errors.InvalidGrant('used already');
  };

  const upsert = async (id: string, payload: AdapterPayload, expiresIn: number): Promise<void> => {
    const { jti, ...rest } = payload;
    const kept: StatePayload = isBearer(kind) ? rest : payload;
    const key = storeId(kind, id);
    const rider = ownerOf(kind, payload);
    await store.put(kind, key, kind === clientKind ? withHashedSecret(kept) : kept, {
      // oidc-provider gives a lifetime to everything but clients. A registered client expires unless it is used.
      lifeSeconds: (expiresIn ?? lifetimes.unusedClient) + (givesNothingAlone.has(kind) ? knownAfterEndSeconds : 0),
      account: rider,
    });
    if (kind === 'Session')
      await store.put('SessionUid', String(payload.uid), { key }, { lifeSeconds: expiresIn, account: rider });
    // If the rider was erased while this was written, it must go as well.
    await isGone(rider);
  };

  // A session's id changes when a rider signs in. Its uid stays.
  const findByUid = async (uid: string): Promise<AdapterPayload | undefined> => {
    const key = (await store.find('SessionUid', uid))?.key;
    return typeof key === 'string' ? ((await store.find(kind, key)) ?? undefined) : undefined;
  };

  return {
    find: translated(async (id: string) => await unlessGone(await find(id))),
    consume: translated(consume),
    upsert: translated(upsert),
    // A code or refresh token gives nothing without its grant. It is kept, so that an app that uses it is told that its
    // connection has ended.
    destroy: translated(async (id: string) => {
      if (kind !== 'AccessToken' && !givesNothingAlone.has(kind)) await store.remove(kind, storeId(kind, id));
    }),
    revokeByGrantId: async () => {},
    findByUid: translated(async (uid: string) => await unlessGone(await findByUid(uid))),
    // Device codes are not supported.
    findByUserCode: async () => undefined,
  };
}

/** An access token of ours, live or not. Undefined if it is none. */
async function revocable(
  token: string,
  { keys, service }: Pick<ProviderOptions, 'keys' | 'service'>,
): Promise<AdapterPayload | undefined> {
  const expected = { issuer: service.origin, audience: service.resource };
  const claims = await verifyAccessToken(token, keysById(keys), { ...expected, currentDate: new Date(0) }).catch(
    () => null,
  );
  const grantId = claims?.[grantClaim];
  return typeof grantId === 'string'
    ? { kind: 'AccessToken', clientId: String(claims!.client_id), grantId }
    : undefined;
}

/** Kinds that give nothing without their grant. */
export const givesNothingAlone: ReadonlySet<string> = new Set(['AuthorizationCode', 'RefreshToken']);

// How long codes and refresh tokens are kept after they expire, so that a late app is told that they have.
const knownAfterEndSeconds = 86_400;

// The first use and two more: a lost reply, and another tab.
const refreshUsesMax = 3;

// Of one connection: each use leaves a token that is kept, so one rider must not make any number. An app refreshes every
// ten minutes, or when its page is loaded.
const refreshLimit = { max: 60, windowMs: 600_000 };

/**
 * The rider by whom an entry is listed and erased. A pending sign-in belongs to the rider who has signed in for it. The
 * session that it began with counts only once consent is asked: before that, somebody else may be about to sign in.
 */
function ownerOf(kind: string, { accountId, result, session, prompt }: AdapterPayload): string | undefined {
  if (kind !== 'Interaction') return accountId;
  return result?.login?.accountId ?? (prompt?.name === 'consent' ? session?.accountId : undefined);
}

/** Wraps a function that oidc-provider calls: while a store is away, it throws `temporarily_unavailable`. */
export const translated =
  <A extends unknown[], R>(call: (...args: A) => Promise<R>): ((...args: A) => Promise<R>) =>
  async (...args) => {
    try {
      return await call(...args);
    } catch (cause) {
      throw cause instanceof StoreAwayError ? temporarilyUnavailable(cause) : cause;
    }
  };

/**
 * RFC 6749's `temporarily_unavailable` with status 503 (oidc-provider's own class has 400), for faults of the stores
 * behind sign-in. Apps are told to try again. What cannot be read just now does not count as absent.
 */
export const temporarilyUnavailable = (cause: unknown): errors.OIDCProviderError =>
  tryAgain(503, 'try again in a few seconds', { cause });

const tryAgain = (status: number, words: string, more: object): errors.OIDCProviderError =>
  Object.assign(new errors.TemporarilyUnavailable(words), { status, statusCode: status, expose: true, ...more });
