import { hash } from 'node:crypto';
import type { ClientMetadata } from './client-policy.ts';
import type { RateLimits } from './rate-limit.ts';
import { knownMetadata } from './registration-request.ts';
import type { StateStore } from './state-store.ts';
import { TooManyFetchesError } from './too-many-fetches.ts';

export interface DocumentFetchOptions {
  /** Reaches public addresses only (infra/net/metadata-fetch.ts). */
  fetchPublic: typeof fetch;
  /** Tells other instances of documents that can't be had. */
  store: Pick<StateStore, 'put' | 'find'>;
  limits: Pick<RateLimits, 'documents' | 'fetches'>;
  /** On whose behalf a document is fetched now. */
  whoAsks: () => string | undefined;
  nowMs?: () => number;
}

/** A document as the library gets it. */
interface Document {
  body: string;
  /** How long it holds, in its own words. */
  holds: Record<string, string>;
  fetchedMs: number;
}

/** Why a document can't be had. */
interface Failure {
  /** What its host answered; null: nothing that is a document. */
  status: number | null;
  /** A fault on the way to it, and no judgement on it: the last one may stand in. */
  passing: boolean;
}

class DocumentError extends Error {
  override name = 'DocumentError';
  readonly failure: Failure;
  constructor(what: string, failure: Failure, cause?: unknown) {
    super(cause instanceof Error ? `${what}: ${cause.message}` : what, { cause });
    this.failure = failure;
  }
}

const jsonType = /^application\/([\w.-]+\+)?json\s*(;|$)/i;
const urlLengthMax = 1000;

// Not asked for again within this time, whatever was answered: a page of ours may be loaded at any rate.
const freshMs = 30_000;
const failedMs = 60_000;
// As long as a document is kept at most where its headers say so.
const staleMs = 86_400_000;
const keptMax = 500;
const failureKind = 'DocumentFailure';

/**
 * A fetch of client ID metadata documents within limits: one at a time of each, none for a minute after it failed (at
 * any instance), and so many from each host, for each address that asks, and in all. Where a document can't be had for
 * a while, the last one stands in for up to a day: an app can refresh though the host of its document has a fault.
 */
export function documentFetch(options: DocumentFetchOptions): typeof fetch {
  const { fetchPublic, store, limits, whoAsks, nowMs = Date.now } = options;
  const lastGood = new Map<string, Document>();
  const failures = new Map<string, Failure & { untilMs: number }>();
  const underWay = new Map<string, Promise<Document>>();

  const knownFailure = async (url: string): Promise<Failure | undefined> => {
    const known = failures.get(url);
    if (known && known.untilMs > nowMs()) return known;
    const told = await store.find(failureKind, storeId(url)).catch(() => null);
    return told ? (told.payload as unknown as Failure) : undefined;
  };

  const noteFailure = async (url: string, failure: Failure): Promise<void> => {
    keep(failures, url, { ...failure, untilMs: nowMs() + failedMs });
    // A store that is away costs other instances a fetch.
    await store.put(failureKind, storeId(url), { ...failure }, { lifeSeconds: failedMs / 1000 }).catch(() => undefined);
  };

  const checkLimits = async (url: string): Promise<void> => {
    const address = whoAsks();
    if (address !== undefined && (await limits.documents.hit(address)) !== null)
      throw new TooManyFetchesError('too many documents for this address');
    if ((await limits.fetches.hit(new URL(url).hostname, url)) !== null)
      throw new TooManyFetchesError('too many fetches of this document, from its host, or in all');
  };

  const load = async (url: string): Promise<Document> => {
    const failure = await knownFailure(url);
    if (failure) throw new DocumentError('the document could not be had a moment ago', failure);
    await checkLimits(url);
    try {
      const document = { ...(await fetchDocument(fetchPublic, url)), fetchedMs: nowMs() };
      keep(lastGood, url, document);
      return document;
    } catch (error) {
      if (error instanceof DocumentError) await noteFailure(url, error.failure);
      throw error;
    }
  };

  const loadOrStandIn = async (url: string): Promise<Document> => {
    try {
      return await load(url);
    } catch (error) {
      const last = lastGood.get(url);
      const passing = error instanceof TooManyFetchesError || (error instanceof DocumentError && error.failure.passing);
      // Its makers took it away, or made it wrong.
      if (!passing) lastGood.delete(url);
      if (!passing || !last || nowMs() - last.fetchedMs >= staleMs) throw error;
      return { ...last, holds: {} };
    }
  };

  return async (input) => {
    const url = typeof input === 'object' && 'url' in input ? input.url : String(input);
    if (url.length > urlLengthMax) throw new TypeError(`the URL has more than ${urlLengthMax} characters`);
    const last = lastGood.get(url);
    if (last && nowMs() - last.fetchedMs < freshMs) return responseOf(last);
    const loading = underWay.get(url) ?? loadOrStandIn(url).finally(() => underWay.delete(url));
    underWay.set(url, loading);
    return await loading.then(responseOf, (error: unknown) => {
      const status = error instanceof DocumentError ? error.failure.status : null;
      if (status === null) throw error;
      return new Response(null, { status });
    });
  };
}

async function fetchDocument(fetchPublic: typeof fetch, url: string): Promise<Omit<Document, 'fetchedMs'>> {
  const response = await fetchPublic(url).catch((cause: unknown) => {
    if (cause instanceof TooManyFetchesError) throw cause;
    throw new DocumentError('the document can’t be fetched', { status: null, passing: true }, cause);
  });
  const { status, headers } = response;
  if (status !== 200) throw new DocumentError('the document is not there', { status, passing: status >= 500 });
  const holds: Record<string, string> = {};
  for (const name of ['cache-control', 'expires']) {
    const value = headers.get(name);
    if (value !== null) holds[name] = value;
  }
  try {
    return { body: await meaningful(response), holds };
  } catch (cause) {
    throw new DocumentError('the document is wrong', { status: null, passing: false }, cause);
  }
}

const storeId = (url: string): string => hash('sha256', url, 'base64url');

const responseOf = ({ body, holds }: Document): Response => new Response(body, { headers: holds });

function keep<T>(kept: Map<string, T>, url: string, value: T): void {
  kept.delete(url);
  kept.set(url, value);
  if (kept.size > keptMax) kept.delete(kept.keys().next().value!);
}

/**
 * What means something here of a document, as JSON: not keys, endpoints to be called, choices of OpenID Connect. What the
 * library has to judge stays.
 */
async function meaningful(response: Response): Promise<string> {
  // Where anybody may leave files, they come as another type: such a host does not speak for them.
  if (!jsonType.test(response.headers.get('content-type') ?? '')) throw new TypeError('it is not JSON');
  const document = (await response.json()) as ClientMetadata;
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new TypeError('it is not a JSON object');
  const kept: ClientMetadata = knownMetadata(document);
  for (const member of ['client_id', 'client_secret', 'client_secret_expires_at'])
    if (document[member] !== undefined) kept[member] = document[member];
  // Written for many servers: which of its scopes are asked for here, the request says.
  delete kept.scope;
  // The default is for clients with a secret, which such a document can't hold.
  kept.token_endpoint_auth_method ??= 'none';
  return JSON.stringify(kept);
}
