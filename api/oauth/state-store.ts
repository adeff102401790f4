/**
 * What sign-in has to remember (sessions, grants, codes, refresh tokens, registered clients): Redis or memory (infra/),
 * held to one contract suite (test/contracts/auth-state.ts). It is the one thing that the event log can't rebuild
 * (docs/rules.md#sign-in-state). Nothing is kept without an end: every entry is put with its lifetime, and is gone when
 * that is over.
 */
export interface StateStore {
  /** Puts an entry in place of any earlier one of its kind and id; its state is gone. */
  put(kind: string, id: string, payload: StatePayload, options: PutOptions): Promise<void>;
  /** Puts another payload into an entry, whose end, grant, account and state stay; nothing where it is gone. */
  replace(kind: string, id: string, payload: StatePayload): Promise<void>;
  find(kind: string, id: string): Promise<StateEntry | null>;
  /** Finds an entry and removes it, as one step: of several callers one gets it. */
  take(kind: string, id: string): Promise<StateEntry | null>;
  /**
   * Puts other states in place of the expected ones, of all the entries or of none, as one step: of several callers with
   * the same expectation one succeeds. false: one is not as expected, or there is no such entry.
   */
  swap(swaps: readonly Swap[]): Promise<boolean>;
  /** Gives an entry this much longer to live from now on; nothing where it is gone. */
  extend(kind: string, id: string, lifeSeconds: number): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
  /** Removes every entry put under a grant. */
  removeGrant(grant: string): Promise<void>;
  /** Every entry put under an account, in no order. */
  ofAccount(account: string): Promise<OwnedEntry[]>;
  /** Every account that may have entries; may name one twice. */
  accounts(): AsyncIterable<string>;
  /** Adds to a counter that begins again with each window of time, and says what it then stands at. Adding 0 reads it. */
  count(name: string, windowSeconds: number, add: number): Promise<number>;
  /** Remembers when riders were seen to be gone (milliseconds, the latest of each), for so long after the last of all. */
  noteErasures(erasures: ReadonlyMap<string, number>, lifeSeconds: number): Promise<void>;
  /** What is remembered of riders erased within that time, the earliest first. */
  erasures(): Promise<Map<string, number>>;
  /** What a restart of the store itself would lose; a reason to tell the operator, or null where all is well. */
  risk(): Promise<string | null>;
  close(): Promise<void>;
}

export type StatePayload = Record<string, unknown>;

export interface PutOptions {
  lifeSeconds: number;
  /** Removed with this grant. */
  grant?: string | undefined;
  /** Found under this account (rider id). */
  account?: string | undefined;
}

export interface Swap {
  kind: string;
  id: string;
  from: string | null;
  /** null removes the entry. */
  to: string | null;
}

export interface StateEntry {
  payload: StatePayload;
  /** What `swap` has put; null: nothing yet. */
  state: string | null;
}

export interface OwnedEntry extends StateEntry {
  kind: string;
  id: string;
}

/** The store can't be reached or does not answer in time: try again later. */
export class StateStoreAwayError extends Error {
  override name = 'StateStoreAwayError';
}
