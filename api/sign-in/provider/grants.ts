import type { Interaction } from 'oidc-provider';
import type { ServiceUrl } from '../../messages/service-url.ts';
import type { OwnedEntry, StateStore } from '../../ports/sign-in-state.ts';
import { clientName } from '../clients/client-words.ts';
import type { SignInProvider } from './provider.ts';
import { allowRead } from './provider-settings.ts';

// A rider may have an app on several devices, with a grant each. With one more than this, the oldest ends.
const grantsPerAppMax = 20;

/** What riders have allowed apps to do: each yes on the consent page is a grant (docs/rules.md#consent). */
export function grantsOf(provider: SignInProvider, store: StateStore, service: ServiceUrl) {
  const ofRider = async (rider: string) =>
    (await store.ofAccount(rider)).filter(isGrant).map(({ id, payload }) => ({
      id,
      clientId: String(payload.clientId),
      iat: Number(payload.iat),
      exp: Number(payload.exp),
    }));

  const nameOf = async (clientId: string): Promise<string> => {
    // The client's document may be away. The rider can disconnect the app all the same.
    const client = await provider.client(clientId).catch(() => undefined);
    return client ? clientName(client) : clientId;
  };

  const end = async (id: string): Promise<void> => await store.remove('Grant', id);

  return {
    /** Records that the rider of an interaction allowed its app to read. Returns the grant's id. */
    async make({ session, params }: Interaction): Promise<string> {
      const clientId = String(params.client_id);
      const accountId = session!.accountId;
      const before = (await ofRider(accountId)).filter((grant) => grant.clientId === clientId);
      before.sort((a, b) => b.iat - a.iat);
      for (const { id } of before.slice(grantsPerAppMax - 1)) await end(id);
      const grant = allowRead(provider.newGrant({ accountId, clientId }), service);
      return await grant.save();
    },
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
      for (const { id } of grants) await end(id);
      return grants.length === 0 ? null : await nameOf(clientId);
    },
    /**
     * Ends everything that a rider was given (docs/rules.md#ended-tokens). Grants end first, so that nothing else of
     * the rider's gives a new token meanwhile.
     */
    async endRider(rider: string): Promise<void> {
      const given = await store.ofAccount(rider);
      for (const { id } of given.filter(isGrant)) await end(id);
      for (const { kind, id } of given) await store.remove(kind, id);
      await store.tidyAccount(rider);
    },
  };
}

export type Grants = ReturnType<typeof grantsOf>;

const isGrant = ({ kind }: OwnedEntry): boolean => kind === 'Grant';
