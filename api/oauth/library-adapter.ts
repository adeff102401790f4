import type { FastifyBaseLogger } from 'fastify';
import { type Adapter, type AdapterPayload, errors, Provider } from 'oidc-provider';
import { StoreAwayError } from '../ports/view-reader.ts';
import type { RecentErasures } from '../tokens/recent-erasures.ts';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import type { SigningKeys } from '../tokens/signing-keys.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { ClientMetadata } from './client-policy.ts';
import { withHashedSecret } from './client-secrets.ts';
import { issuedSeconds } from './grants.ts';
import type { Lifetimes } from './lifetimes.ts';
import type { Redemptions } from './redemption.ts';
import { isBearer, storeId } from './sealed-store.ts';
import type { ServiceUrl } from './service-url.ts';
import { type StatePayload, type StateStore, StateStoreAwayError } from './state-store.ts';

/** The kind under which clients that registered themselves are stored. Other clients are stored elsewhere. */
export const clientKind = 'Client';

/** What the library is made of. */
export interface LibraryOptions {
  service: ServiceUrl;
  /** Closed with the application. */
  store: StateStore;
  riders: RiderDirectory;
  /** What riders were given before an erasure counts as gone. The token checker uses this too. */
  erasures: RecentErasures;
  /** Called when a rider who has something stored is found to be gone. */
  riderGone(rider: string): void;
  audit: AuditTrail;
  keys: SigningKeys;
  /** Newest first, 32 characters or more each. All instances have the same. */
  cookieKeys: readonly string[];
  /** Those of OAUTH_CLIENTS. */
  clients: readonly ClientMetadata[];
  /** Ids of clients that did not introduce themselves: those of OAUTH_CLIENTS and our own. */
  knownClients: ReadonlySet<string>;
  /** OAUTH_REGISTRATION. */
  registration: boolean;
  /** OAUTH_CLIENT_METADATA: the fetch of client ID metadata documents. Null if they are off. */
  metadataFetch: typeof fetch | null;
  lifetimes: Lifetimes;
  nowMs: () => number;
  /** Where riders prove who they are, and may still be signed in. Null: not at a provider. */
  providerHost: string | null;
  logger: FastifyBaseLogger;
}

/**
 * oidc-provider's adapter interface over the state store. `redemption.ts` decides how often something may be redeemed.
 */
export function libraryAdapter(kind: string, options: LibraryOptions, redemptionOf: Redemptions): Adapter {
  const { store, riders, erasures, riderGone, audit, lifetimes, nowMs } = options;

  const hasEnded = async (payload: StatePayload): Promise<boolean> => {
    const rider = owned[kind]?.(payload);
    if (rider === undefined) return false;
    if (erasures.settled) await erasures.settled;
    return erasures.ended(rider, issuedSeconds(payload)) || (kind === 'Session' && (await isGone(rider)));
  };

  // A sign-in that begins with the session of a rider who is gone would end with that session.
  const isGone = async (rider: string): Promise<boolean> => {
    // If this cannot be told, the library finds out when it asks for the account.
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
    const kept = entry.payload;
    const payload = { ...kept, ...(isBearer(kind) && { jti: id }) } as AdapterPayload;
    if (!grantable.has(kind) || !(await redemptionOf(Provider.ctx!).look(kind, storeId(kind, id), entry)))
      return payload;
    const cause = kind === 'RefreshToken' ? 'refresh_token' : 'code';
    audit('replay_found', { client: kept.clientId as string | undefined, cause });
    // The library ends the whole grant of an entry that is consumed.
    return { ...payload, consumed: Math.floor(nowMs() / 1000) };
  };

  const consume = async (): Promise<void> => {
    const redemption = redemptionOf(Provider.ctx!);
    // Checked before the code is used up: a store that is away must not cost the rider a new sign-in.
    if (kind === 'AuthorizationCode' && !(await riders.exists(redemption.account))) {
      riderGone(redemption.account);
      throw new errors.InvalidGrant('the rider is gone');
    }
    if (!(await redemption.redeem())) throw new errors.InvalidGrant('redeemed by another request at the same time');
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
      // Only for clients does the library give no lifetime. A registered client expires unless it is used.
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
    // The rider was erased while this was written. What was destroyed must not come back.
    if (await hasEnded(kept)) await store.remove(kind, key);
    if (kind === 'RefreshToken' && !(await redemptionOf(Provider.ctx!).issue(kind, key))) {
      await store.remove(kind, key);
      throw new errors.InvalidGrant('redeemed by another request meanwhile');
    }
  };

  // A session's id changes when a rider signs in. Its uid stays.
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
    // Device codes are not supported.
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
 * The kinds that are listed and erased by rider, and who owns an entry. A pending sign-in belongs to the rider who has
 * signed in for it. The session that it began with counts only once consent is asked: before that, somebody else may be
 * about to sign in.
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

function translated<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  return async (...args) => {
    try {
      return await call(...args);
    } catch (cause) {
      throw cause instanceof StateStoreAwayError ? temporarilyUnavailable(cause) : cause;
    }
  };
}

/**
 * RFC 6749's `temporarily_unavailable` with status 503 (the library's own class has 400), for faults of the stores
 * behind sign-in. Apps are told to try again, and nothing is taken as absent.
 */
export function temporarilyUnavailable(cause: unknown): errors.OIDCProviderError {
  const error = new errors.TemporarilyUnavailable('try again in a few seconds');
  return Object.assign(error, { status: 503, statusCode: 503, expose: true, cause });
}

/** Whether an error says that a store behind sign-in is away, so that trying again may help. */
export const isAway = (error: unknown): boolean =>
  error instanceof StateStoreAwayError ||
  error instanceof StoreAwayError ||
  (error as { statusCode?: number }).statusCode === 503;

/** The same directory, with its faults turned into `temporarily_unavailable`. */
export function ridersOrUnavailable(riders: RiderDirectory): RiderDirectory {
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (cause) {
      throw temporarilyUnavailable(cause);
    }
  };
  return {
    exists: (rider) => asked(riders.exists(rider)),
    card: (rider) => asked(riders.card(rider)),
    sample: (count) => asked(riders.sample(count)),
  };
}
