import { randomUUID } from 'node:crypto';
import type { StateEntry, StateStore, Swap } from './state-store.ts';

interface Redeemed {
  /** The request that redeemed it last. */
  by: string;
  /** When it was redeemed for the first time. */
  firstMs: number;
  /** The refresh token that replaced it, as the store has it. */
  successor: string | null;
}

/** The state of a code or refresh token, stored as text beside it. No text is `unused`. */
export type RedemptionState =
  | { at: 'unused' }
  /** A request has redeemed it, and has not been answered yet. */
  | ({ at: 'answering'; sinceMs: number } & Redeemed)
  /** The reply is on its way. */
  | ({ at: 'answered' } & Redeemed)
  /** It was in a reply that was taken for lost, so nobody should have it. */
  | { at: 'replaced' };

export type RedemptionEvent =
  /** `graceMs`: how long it may be redeemed again after a lost reply. Null for codes, which may not. */
  | { is: 'redeem'; by: string; nowMs: number; graceMs: number | null }
  | { is: 'issue'; successor: string }
  | { is: 'answer' }
  /** Its parent is redeemed again. */
  | { is: 'replace' }
  /** Its own client redeems it with a wrong verifier or address: a guess. */
  | { is: 'guess' };

export type RedemptionOutcome =
  /** `replaces`: a successor that must be replaced in the same step. */
  | { is: 'next'; state: RedemptionState; replaces?: string }
  | { is: 'removed' }
  /** Two requests at the same time: this one fails, and nothing else ends. */
  | { is: 'refused' }
  /** A replay: everything that came of it ends. */
  | { is: 'spent' }
  | { is: 'nothing' };

type Table = {
  [S in RedemptionState['at']]: {
    [E in RedemptionEvent['is']]: (
      state: Extract<RedemptionState, { at: S }>,
      event: Extract<RedemptionEvent, { is: E }>,
    ) => RedemptionOutcome;
  };
};
type Redeem = Extract<RedemptionEvent, { is: 'redeem' }>;

// If an instance redeems a token and dies, the token stays unanswered. A client waits no longer than this for a reply.
const answerMs = 2000;

const refused = (): RedemptionOutcome => ({ is: 'refused' });
const spent = (): RedemptionOutcome => ({ is: 'spent' });
const nothing = (): RedemptionOutcome => ({ is: 'nothing' });

const answering = ({ by, nowMs }: Redeem, firstMs: number): RedemptionState => ({
  at: 'answering',
  by,
  sinceMs: nowMs,
  firstMs,
  successor: null,
});

/** Redeemed again after the reply: a retry of a client that never got it, within the grace; otherwise a replay. */
function again({ firstMs, successor }: Redeemed, event: Redeem): RedemptionOutcome {
  if (event.graceMs === null || event.nowMs - firstMs > event.graceMs) return spent();
  return { is: 'next', state: answering(event, firstMs), ...(successor !== null && { replaces: successor }) };
}

const table: Table = {
  unused: {
    redeem: (_, event) => ({ is: 'next', state: answering(event, event.nowMs) }),
    issue: nothing,
    answer: nothing,
    replace: () => ({ is: 'next', state: { at: 'replaced' } }),
    guess: () => ({ is: 'removed' }),
  },
  answering: {
    redeem: (state, event) => (event.nowMs - state.sinceMs <= answerMs ? refused() : again(state, event)),
    issue: (state, { successor }) => ({ is: 'next', state: { ...state, successor } }),
    answer: ({ by, firstMs, successor }) => ({ is: 'next', state: { at: 'answered', by, firstMs, successor } }),
    // Somebody has it after all. So there are two holders, and one is a thief.
    replace: spent,
    guess: nothing,
  },
  answered: { redeem: again, issue: nothing, answer: nothing, replace: spent, guess: nothing },
  replaced: { redeem: spent, issue: nothing, answer: nothing, replace: spent, guess: nothing },
};

/** What an event does to a code or refresh token. */
export function redemptionOutcome(state: RedemptionState, event: RedemptionEvent): RedemptionOutcome {
  const row = table[state.at] as Record<string, (state: RedemptionState, event: RedemptionEvent) => RedemptionOutcome>;
  return row[event.is]!(state, event);
}

const stateOf = ({ state }: StateEntry): RedemptionState =>
  state === null ? { at: 'unused' } : (JSON.parse(state) as RedemptionState);

interface Looked {
  kind: string;
  key: string;
  entry: StateEntry;
  is: RedemptionOutcome['is'];
  swaps: Swap[];
}

/**
 * One request's redemption of a code or refresh token. Each step is one compare-and-swap in the store: of several
 * requests that saw the same state, one succeeds.
 */
export class Redemption {
  readonly #store: StateStore;
  readonly #nowMs: () => number;
  readonly #graceMs: number;
  #looked: Looked | undefined;
  /** What this request redeemed, and the state it left it in. */
  #taken: { kind: string; key: string; state: string } | undefined;

  constructor(store: StateStore, graceMs: number, nowMs: () => number) {
    this.#store = store;
    this.#graceMs = graceMs;
    this.#nowMs = nowMs;
  }

  /** Looks up what redeeming an entry would do. Returns whether it is spent. */
  async look(kind: string, key: string, entry: StateEntry): Promise<boolean> {
    const graceMs = kind === 'RefreshToken' ? this.#graceMs : null;
    const event: Redeem = { is: 'redeem', by: randomUUID(), nowMs: this.#nowMs(), graceMs };
    const outcome = redemptionOutcome(stateOf(entry), event);
    const looked: Looked = { kind, key, entry, is: outcome.is, swaps: [] };
    this.#looked = looked;
    if (outcome.is !== 'next') return outcome.is === 'spent';
    looked.swaps.push({ kind, id: key, from: entry.state, to: JSON.stringify(outcome.state) });
    if (outcome.replaces === undefined) return false;
    const successor = await this.#store.find(kind, outcome.replaces);
    const replaced = successor && redemptionOutcome(stateOf(successor), { is: 'replace' });
    if (replaced?.is !== 'next') looked.is = 'spent';
    else looked.swaps.push({ kind, id: outcome.replaces, from: successor!.state, to: JSON.stringify(replaced.state) });
    return looked.is === 'spent';
  }

  /** The rider of the entry that was looked up. */
  get account(): string {
    return String(this.#looked?.entry.payload.accountId);
  }

  /** Redeems the entry that was looked up. False: another request did at the same time. */
  async redeem(): Promise<boolean> {
    if (this.#looked?.is !== 'next') return false;
    const { kind, key, swaps } = this.#looked;
    if (!(await this.#store.swap(swaps))) return false;
    this.#taken = { kind, key, state: swaps[0]!.to! };
    return true;
  }

  /**
   * Records the refresh token that replaces the redeemed one. False: this took so long that another request has
   * redeemed it.
   */
  async issue(kind: string, successor: string): Promise<boolean> {
    return this.#taken?.kind !== kind || (await this.#advance({ is: 'issue', successor }));
  }

  /**
   * The reply is about to be sent. From now on the same code or token again is a replay or a retry, no longer two at
   * the same time.
   */
  async answer(): Promise<void> {
    if (this.#taken) await this.#advance({ is: 'answer' });
  }

  /** The request was refused. Burns a code that its own client failed to redeem: there is no second guess. */
  async fail(clientId: string | undefined): Promise<void> {
    const { kind, key, entry } = this.#looked ?? {};
    if (kind !== 'AuthorizationCode' || this.#taken || entry!.payload.clientId !== clientId) return;
    if (redemptionOutcome(stateOf(entry!), { is: 'guess' }).is === 'removed')
      await this.#store.swap([{ kind, id: key!, from: entry!.state, to: null }]);
  }

  async #advance(event: RedemptionEvent): Promise<boolean> {
    const { kind, key, state } = this.#taken!;
    const outcome = redemptionOutcome(JSON.parse(state) as RedemptionState, event);
    if (outcome.is !== 'next') return false;
    const to = JSON.stringify(outcome.state);
    if (!(await this.#store.swap([{ kind, id: key, from: state, to }]))) return false;
    this.#taken = { kind, key, state: to };
    return true;
  }
}

/** The redemption of each request of the library. */
export type Redemptions = (request: object) => Redemption;

export function redemptions(store: StateStore, graceSeconds: number, nowMs: () => number): Redemptions {
  const byRequest = new WeakMap<object, Redemption>();
  return (request) => {
    const redemption = byRequest.get(request) ?? new Redemption(store, graceSeconds * 1000, nowMs);
    byRequest.set(request, redemption);
    return redemption;
  };
}
