import type { Grant, Provider } from 'oidc-provider';
import type { ServiceUrl } from '../../messages/service-url.ts';
import type { StateStore } from '../../ports/sign-in-state.ts';
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

/** What apps may do: each yes on the consent page is a grant, and each that needed none (docs/rules.md#consent). */
export function grantsOf(store: StateStore, nameOf: (clientId: string) => Promise<string>) {
  const ofRider = async (rider: string) =>
    (await store.ofAccount(rider, 'Grant')).map(({ id, payload }) => ({
      id,
      clientId: String(payload.clientId),
      iat: Number(payload.iat),
      exp: Number(payload.exp),
    }));

  return {
    /** The apps that a rider's grants are for, by name; since when and until when, in milliseconds since the epoch. */
    async apps(rider: string) {
      const apps = new Map<string, { clientId: string; sinceMs: number; untilMs: number }>();
      for (const { clientId, iat, exp } of await ofRider(rider)) {
        const known = apps.get(clientId);
        apps.set(clientId, {
          clientId,
          sinceMs: Math.min(iat * 1000, known?.sinceMs ?? Number.POSITIVE_INFINITY),
          untilMs: Math.max(exp * 1000, known?.untilMs ?? 0),
        });
      }
      // In parallel: some clients' documents may have to be fetched.
      const named = await Promise.all(
        [...apps.values()].map(async (app) => ({ ...app, name: await nameOf(app.clientId) })),
      );
      return named.sort((a, b) => a.name.localeCompare(b.name, 'en'));
    },
    /** Ends everything that a rider allowed an app. Returns the app's name, or null if it was not connected. */
    async disconnect(rider: string, clientId: string): Promise<string | null> {
      const grants = (await ofRider(rider)).filter((grant) => grant.clientId === clientId);
      for (const { id } of grants) await store.remove('Grant', id);
      return grants.length === 0 ? null : await nameOf(clientId);
    },
  };
}
