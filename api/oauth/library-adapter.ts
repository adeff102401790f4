import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { RecentErasures } from '../tokens/recent-erasures.ts';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import { hasPlainSecret, withHashedSecret } from './client-secrets.ts';
import { issuedSeconds } from './issued-seconds.ts';
import type { Lifetimes } from './lifetimes.ts';
import { isBearer, storeId } from './sealed-store.ts';
import { type StateEntry, type StatePayload, type StateStore, StateStoreAwayError } from './state-store.ts';
import { temporarilyUnavailable } from './temporarily-unavailable.ts';

/** What one request has done with codes and refresh tokens, kept beside the library's calls to its adapter. */
export interface Redemption {
  /** This request, in the marks of what it redeems. */
  by: string;
  /** Who redeemed the refresh token before, where this is taken for a retry after a lost reply. */
  retryAfter?: string;
  /** The code or refresh token redeemed here, as the store has it. */
  redeemed?: { kind: string; key: string };
}

const redemptions = new AsyncLocalStorage<Redemption>();

/** Runs a request of the library with its own account of redemptions. */
export function withRedemption<T>(run: () => T): T {
  return redemptions.run({ by: randomUUID() }, run);
}

/** A client registered by itself is told from one of ours by where it is kept. */
export const clientKind = 'Client';

// An instance that redeems a refresh token and dies leaves it unsettled; nobody waits longer than this for a reply.
const settleMs = 2000;
const parallelMs = 50;

export interface AdapterOptions {
  store: StateStore;
  riders: RiderDirectory;
  /** What riders were given before an erasure is not there any more. */
  erasures: Pick<RecentErasures, 'settled' | 'ended'>;
  /** A rider of something that is kept here was seen to be gone. */
  riderGone: (rider: string) => void;
  lifetimes: Lifetimes;
  nowMs: () => number;
}

/**
 * oidc-provider's adapter interface over the state store. A code is redeemed once, however many try at a time. So is a
 * refresh token, but for one case: a client that never got the reply asks again with the same one. Within the grace
 * time, and while its successor is unused, that replaces the successor, whose use then ends the grant; whoever asks while the first request is still
 * being answered is refused, and after that the token is stolen goods: the library ends the whole grant.
 */
export function libraryAdapter(kind: string, options: AdapterOptions): Adapter {
  const { store, riders, erasures, riderGone, lifetimes, nowMs } = options;

  const hasEnded = async (payload: StatePayload): Promise<boolean> => {
    const rider = owned[kind]?.(payload);
    if (rider === undefined) return false;
    if (erasures.settled) await erasures.settled;
    return erasures.ended(rider, issuedSeconds(payload)) || (kind === 'Session' && (await isGone(rider)));
  };

  // A sign-in that is begun with the session of a rider who is gone would end with it.
  const isGone = async (rider: string): Promise<boolean> => {
    // Where it isn't known who exists, the library finds out when it asks for the account.
    const gone = await riders.exists(rider).then(
      (exists) => !exists,
      () => false,
    );
    if (gone) riderGone(rider);
    return gone;
  };

  const find = async (id: string): Promise<AdapterPayload | undefined> => {
    const entry = await store.find(kind, storeId(kind, id));
    if (!entry || (await hasEnded(entry.payload))) return undefined;
    const kept = kind === clientKind ? await hashedClient(id, entry.payload) : entry.payload;
    const payload = { ...kept, ...(isBearer(kind) && { jti: id }) } as AdapterPayload;
    return (await isUsedUp(entry))
      ? { ...payload, consumed: Math.floor(Number(entry.marks.consumed) / 1000) }
      : payload;
  };

  // Versions before this one kept secrets as they are.
  const hashedClient = async (id: string, client: StatePayload): Promise<StatePayload> => {
    if (!hasPlainSecret(client)) return client;
    const hashed = withHashedSecret(client);
    await store.replace(kind, id, hashed);
    return hashed;
  };

  const isUsedUp = async ({ marks }: StateEntry): Promise<boolean> => {
    if (marks.consumed === undefined) return false;
    if (marks.replaced !== undefined) return true;
    // Not answered yet: two at a time. `consume` will find that it was redeemed, and refuses this one alone.
    const settled = marks.settled !== undefined || nowMs() - Number(marks.takenAt) > settleMs;
    if (!settled) return false;
    if (kind !== 'RefreshToken' || nowMs() - Number(marks.consumed) > lifetimes.refreshGrace * 1000) return true;
    if (marks.successor !== undefined) {
      const successor = await store.find(kind, marks.successor);
      if (!successor || successor.marks.consumed !== undefined) return true;
    }
    const redemption = redemptions.getStore();
    if (redemption && marks.by !== undefined) redemption.retryAfter = marks.by;
    return false;
  };

  const consume = async (id: string): Promise<void> => {
    const redemption = redemptions.getStore() ?? { by: randomUUID() };
    const key = storeId(kind, id);
    const before = await store.find(kind, key);
    // Before the code is used up: a store of riders that is away must not cost the rider a new sign-in.
    if (kind === 'AuthorizationCode' && before && !(await riders.exists(String(before.payload.accountId)))) {
      riderGone(String(before.payload.accountId));
      throw new errors.InvalidGrant('the rider is gone');
    }
    const now = `${nowMs()}`;
    const taken = redemption.retryAfter
      ? await store.mark(
          kind,
          key,
          { by: redemption.by, takenAt: now, settled: null, successor: null },
          { by: redemption.retryAfter },
        )
      : await store.mark(kind, key, { consumed: now, by: redemption.by, takenAt: now }, { consumed: null });
    if (!taken) throw new errors.InvalidGrant('redeemed by another request at the same time');
    redemption.redeemed = { kind, key };
    // Whoever redeems it at the same time has come by then, and is told from one who comes after the reply.
    await sleep(parallelMs);
    if (redemption.retryAfter && before?.marks.successor) await replace(before.marks.successor, now);
  };

  // It was lost on its way, so nobody has it. Whoever comes with it all the same shows that there are two, one a thief:
  // it stays, used up, so that this ends them both.
  const replace = async (successor: string, now: string): Promise<void> => {
    if (!(await store.mark(kind, successor, { consumed: now, replaced: '1' }, { consumed: null })))
      throw new errors.InvalidGrant('its successor was redeemed at the same time');
  };

  const upsert = async (id: string, payload: AdapterPayload, expiresIn: number): Promise<void> => {
    const { grantId, accountId, jti, ...rest } = payload;
    const kept: StatePayload = {
      ...rest,
      ...(grantId !== undefined && { grantId }),
      ...(accountId !== undefined && { accountId }),
      ...(!isBearer(kind) && jti !== undefined && { jti }),
    };
    const key = storeId(kind, id);
    await store.put(kind, key, kind === clientKind ? withHashedSecret(kept) : kept, {
      // The library names no lifetime for clients alone: a registered one ends unless it is used.
      lifeSeconds: expiresIn ?? lifetimes.unusedClient,
      grant: grantable.has(kind) ? grantId : undefined,
      account: owned[kind]?.(payload),
    });
    if (kind === 'Session')
      await store.put(
        'SessionUid',
        String(payload.uid),
        { key, iat: issuedSeconds(kept) },
        { lifeSeconds: expiresIn, account: accountId },
      );
    // Under way while the rider was erased: what was destroyed must not come back.
    if (await hasEnded(kept)) await store.remove(kind, key);
    const redemption = redemptions.getStore();
    if (kind === 'RefreshToken' && redemption?.redeemed?.kind === kind)
      await store.mark(kind, redemption.redeemed.key, { successor: key }, { by: redemption.by });
  };

  // A session's id changes when somebody signs in; its uid stays.
  const findByUid = async (uid: string): Promise<AdapterPayload | undefined> => {
    const key = (await store.find('SessionUid', uid))?.payload.key;
    const entry = typeof key === 'string' ? await store.find(kind, key) : null;
    return entry && !(await hasEnded(entry.payload)) ? (entry.payload as AdapterPayload) : undefined;
  };

  return {
    find: translated(find),
    consume: translated(consume),
    upsert: translated(upsert),
    destroy: translated((id: string) => store.remove(kind, storeId(kind, id))),
    revokeByGrantId: translated((grantId: string) => store.removeGrant(grantId)),
    findByUid: translated(findByUid),
    // Device codes are not offered.
    findByUserCode: async () => undefined,
  };
}

/** Kinds that end with their grant. */
const grantable = new Set(['AuthorizationCode', 'RefreshToken']);

type Owner = (payload: StatePayload) => string | undefined;
const account: Owner = ({ accountId }) => accountId as string | undefined;
interface Signed {
  login?: { accountId?: string };
  accountId?: string;
}

/**
 * Kinds that are listed and erased by rider, and whose each is. Of a pending sign-in: who has signed in for it. A session
 * that it was begun with counts only once the rider is asked for consent; before, somebody else may be about to sign in.
 */
const owned: Record<string, Owner> = {
  Grant: account,
  Session: account,
  AuthorizationCode: account,
  RefreshToken: account,
  Interaction: ({ result, session, prompt }) =>
    (result as Signed | undefined)?.login?.accountId ??
    ((prompt as { name?: string } | undefined)?.name === 'consent' ? (session as Signed)?.accountId : undefined),
};

/** The reply is about to be sent: from now on the same code or token again is a replay or a retry, not two at a time. */
export async function settleRedemption(store: StateStore): Promise<void> {
  const { by, redeemed } = redemptions.getStore() ?? {};
  if (by !== undefined && redeemed) await store.mark(redeemed.kind, redeemed.key, { settled: '1' }, { by });
}

function translated<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  return async (...args) => {
    try {
      return await call(...args);
    } catch (cause) {
      throw cause instanceof StateStoreAwayError ? temporarilyUnavailable(cause) : cause;
    }
  };
}
