import type { StateStore } from '../../ports/sign-in-state.ts';
import { addGrants, type Connected, grantsIn } from './grants.ts';
import { givesNothingAlone } from './provider-adapter.ts';

/** What an operator asks about: all, or that of one rider, of one client, or of one client of one rider. */
export interface ConnectionsOf {
  rider?: string | undefined;
  client?: string | undefined;
}

/** What is connected, by client id, and how many browsers are signed in. It names no rider. */
export async function listConnections(store: StateStore, of: ConnectionsOf, signal: AbortSignal) {
  const clients = new Map<string, Connected>();
  let sessions = 0;
  for await (const rider of ridersOf(store, of, signal)) {
    addGrants(clients, await grantsIn(store, rider, of.client));
    // A session is a rider's, of no client.
    if (of.client === undefined) sessions += (await store.ofAccount(rider, 'Session')).length;
  }
  return { clients: [...clients.values()].sort((a, b) => (a.client < b.client ? -1 : 1)), sessions };
}

/** Ends connections with their refresh tokens; of a rider without a client sessions and pending sign-ins too. */
export async function endConnections(store: StateStore, of: ConnectionsOf, signal: AbortSignal) {
  const ended = { connections: 0, sessions: 0 };
  for await (const rider of ridersOf(store, of, signal)) {
    const grants = await grantsIn(store, rider, of.client);
    // Grants end first, so that nothing else of the rider's gives a new token meanwhile.
    for (const { kind, id } of grants) await store.remove(kind, id);
    ended.connections += grants.length;
    if (of.client !== undefined) continue;
    for (const { kind, id } of await store.ofAccount(rider)) {
      if (givesNothingAlone.has(kind)) continue;
      await store.remove(kind, id);
      if (kind === 'Session') ended.sessions++;
    }
  }
  return ended;
}

async function* ridersOf(store: StateStore, { rider }: ConnectionsOf, signal: AbortSignal) {
  for await (const each of rider === undefined ? store.accounts() : [rider]) {
    signal.throwIfAborted();
    yield each;
  }
}
