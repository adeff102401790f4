import { hash } from 'node:crypto';
import { networksOf } from './client-address.ts';
import { type ClientMetadata, knownMetadata } from './client-policy.ts';
import type { RateLimits } from './rate-limit.ts';
import type { StateStore } from './state-store.ts';

export interface DocumentFetchOptions {
  /** Fetches from public addresses only (infra/net/metadata-fetch.ts). */
  fetchPublic: typeof fetch;
  /** Tells other instances which documents failed. */
  store: Pick<StateStore, 'put' | 'find'>;
  limits: Pick<RateLimits, 'documents' | 'fetches'>;
  /** The address of the client on whose behalf a document is fetched now. */
  clientAddress: () => string | undefined;
  nowMs?: () => number;
}

/** A document as the library gets it. */
interface Document {
  body: string;
  /** How long it may be cached, by its own headers. */
  holds: Record<string, string>;
  fetchedMs: number;
}

/** Why a document could not be fetched. */
interface Failure {
  /** The status of its host's response. Null if the response was no document. */
  status: number | null;
  /** A temporary fault on the way to the document, which says nothing about it. The last good copy may be used. */
  passing: boolean;
}

/** A document was not fetched because of a limit. Says nothing about the document. */
export class TooManyFetchesError extends Error {
  override name = 'TooManyFetchesError';
  /** When to try again. */
  readonly retrySeconds: number;
  constructor(message: string, retrySeconds = 60) {
    super(message);
    this.retrySeconds = retrySeconds;
  }
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

// A document is not fetched again within this time, whatever was answered: our pages may be loaded at any rate.
const freshMs = 30_000;
const failedMs = 60_000;
// The longest time that a document is cached, if its headers allow it.
const staleMs = 86_400_000;
const keptMax = 500;
// Documents that one network may have fetched at a time, of the 16 of an instance (infra/net/metadata-fetch.ts). A host that
// never answers takes up one of them for seconds, so one stranger must not get them all.
const atATimeMax = 4;
const failureKind = 'DocumentFailure';

/**
 * Fetches client ID metadata documents within limits: one fetch of a document at a time, none for a minute after it
 * failed (at any instance), and a limited number from each host, for each client address, and in all. If a document
 * cannot be fetched, its last good copy is used for up to a day, so that an app can refresh although its host has a
 * fault.
 */
export function documentFetch(options: DocumentFetchOptions): typeof fetch {
  const { fetchPublic, store, limits, clientAddress, nowMs = Date.now } = options;
  const lastGood = new Map<string, Document>();
  const failures = new Map<string, Failure & { untilMs: number }>();
  const underWay = new Map<string, Promise<Document>>();
  /** The network of each fetch under way. */
  const fetching: (string | null)[] = [];

  const knownFailure = async (url: string): Promise<Failure | undefined> => {
    const known = failures.get(url);
    if (known && known.untilMs > nowMs()) return known;
    const told = await store.find(failureKind, storeId(url)).catch(() => null);
    return told ? (told as unknown as Failure) : undefined;
  };

  const noteFailure = async (url: string, failure: Failure): Promise<void> => {
    keep(failures, url, { ...failure, untilMs: nowMs() + failedMs });
    // If the store is away, other instances fetch once more.
    await store.put(failureKind, storeId(url), { ...failure }, { lifeSeconds: failedMs / 1000 }).catch(() => undefined);
  };

  const checkLimits = async (url: string, address: string | undefined): Promise<void> => {
    const ofAddress = address === undefined ? null : await limits.documents.hit(address);
    if (ofAddress !== null) throw new TooManyFetchesError('too many documents for this address', ofAddress);
    const wait = await limits.fetches.hit(new URL(url).hostname, url);
    if (wait !== null)
      throw new TooManyFetchesError('too many fetches of this document, from its host, or in all', wait);
  };

  const load = async (url: string): Promise<Document> => {
    const failure = await knownFailure(url);
    if (failure) throw new DocumentError('the document could not be had a moment ago', failure);
    const address = clientAddress();
    const network = address === undefined ? null : networksOf(address)[0]!;
    if (network !== null && fetching.filter((each) => each === network).length >= atATimeMax)
      throw new TooManyFetchesError('too many documents at a time for this address');
    fetching.push(network);
    try {
      await checkLimits(url, address);
      const document = { ...(await fetchDocument(fetchPublic, url)), fetchedMs: nowMs() };
      keep(lastGood, url, document);
      return document;
    } catch (error) {
      if (error instanceof DocumentError) await noteFailure(url, error.failure);
      throw error;
    } finally {
      fetching.splice(fetching.indexOf(network), 1);
    }
  };

  const loadOrStandIn = async (url: string): Promise<Document> => {
    try {
      return await load(url);
    } catch (error) {
      const last = lastGood.get(url);
      const passing = error instanceof TooManyFetchesError || (error instanceof DocumentError && error.failure.passing);
      // Its owners removed the document, or broke it.
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
 * The members of a document that have a meaning here, as JSON. Leaves out keys, endpoints to be called and choices of
 * OpenID Connect. Keeps what the library has to check.
 */
async function meaningful(response: Response): Promise<string> {
  // A host where anybody may upload files serves them as another type. Such a host does not vouch for them.
  if (!jsonType.test(response.headers.get('content-type') ?? '')) throw new TypeError('it is not JSON');
  const document = (await response.json()) as ClientMetadata;
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new TypeError('it is not a JSON object');
  const kept: ClientMetadata = knownMetadata(document);
  for (const member of ['client_id', 'client_secret', 'client_secret_expires_at'])
    if (document[member] !== undefined) kept[member] = document[member];
  // The document is written for many servers. The authorization request says which scopes are wanted here.
  delete kept.scope;
  // RFC 7591's default is for clients with a secret, which such a document cannot contain.
  kept.token_endpoint_auth_method ??= 'none';
  return JSON.stringify(kept);
}
