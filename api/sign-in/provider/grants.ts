import type { Grant, Provider } from 'oidc-provider';
import type { ServiceUrl } from '../../messages/service-url.ts';
import type { OwnedEntry, StateStore } from '../../ports/sign-in-state.ts';
import { readScope } from '../tokens/access-token.ts';

export interface Grantee {
  /** The rider. */
  accountId: string;
  clientId: string;
}

/** The scope belongs to the server (so that clients may register with it) and to the resource. Both must be allowed. */
export function allowRead(grant: Grant, service: ServiceUrl): Grant {
  grant.addOIDCScope(readScope);
  grant.addResourceScope(service.resource, readScope);
  return grant;
}

/** Records that a rider's app may read. The same `id` gives the same grant. */
export async function makeGrant({ Grant }: Provider, service: ServiceUrl, of: Grantee, id?: string): Promise<Grant> {
  const grant = allowRead(new Grant(of), service);
  if (id !== undefined) grant.jti = id;
  await grant.save();
  return grant;
}

/** What a client may do: for one rider, or for several. */
export interface Connected {
  client: string;
  /** One for each time that a rider connected the client and has not ended it. */
  connections: number;
  oldestMs: number;
  newestMs: number;
  untilMs: number;
}

/** The grants of a rider, or those for one client: each yes on the consent page, and each that needed none (docs/rules.md#consent). */
export const grantsIn = async (store: StateStore, rider: string, client?: string): Promise<OwnedEntry[]> =>
  (await store.ofAccount(rider, 'Grant')).filter(({ payload }) => client === undefined || payload.clientId === client);

/** Adds grants to what is known of their clients, by id. */
export function addGrants(clients: Map<string, Connected>, grants: readonly OwnedEntry[]): void {
  for (const { payload } of grants) {
    const client = String(payload.clientId);
    const [ms, endMs] = [Number(payload.iat) * 1000, Number(payload.exp) * 1000];
    const known = clients.get(client) ?? { connections: 0, oldestMs: ms, newestMs: ms, untilMs: endMs };
    clients.set(client, {
      client,
      connections: known.connections + 1,
      oldestMs: Math.min(known.oldestMs, ms),
      newestMs: Math.max(known.newestMs, ms),
      untilMs: Math.max(known.untilMs, endMs),
    });
  }
}

/** What a rider sees of their grants, and ends. */
export const grantsOf = (store: StateStore, nameOf: (client: string) => Promise<string>) => ({
  /** The apps that a rider's grants are for, by name. */
  async apps(rider: string): Promise<(Connected & { name: string })[]> {
    const apps = new Map<string, Connected>();
    addGrants(apps, await grantsIn(store, rider));
    // In parallel: some clients' documents may have to be fetched.
    const named = await Promise.all(
      [...apps.values()].map(async (app) => ({ ...app, name: await nameOf(app.client) })),
    );
    return named.sort((a, b) => a.name.localeCompare(b.name, 'en'));
  },
  /** Ends everything that a rider allowed an app. Returns the app's name, or null if it was not connected. */
  async disconnect(rider: string, client: string): Promise<string | null> {
    const grants = await grantsIn(store, rider, client);
    for (const { id } of grants) await store.remove('Grant', id);
    return grants.length === 0 ? null : await nameOf(client);
  },
});
