import { isLoopback, type ServiceUrl, serviceUrl } from '../../messages/service-url.ts';
import { ownIds } from '../clients/clients.ts';
import { documentFetch } from '../clients/document-fetch.ts';
import { type RateLimits, rateLimits } from '../limits/rate-limit.ts';
import { type PageSender, pageSender } from '../pages/page-sender.ts';
import { openProvider, type SignInProvider } from '../provider/provider.ts';
import type { ProviderOptions } from '../provider/provider-options.ts';
import { sealedStore } from '../provider/sealed-store.ts';
import { paths } from '../tokens/metadata.ts';
import { type UpstreamSettings, type UpstreamSignIn, upstreamSignIn } from './upstream-sign-in.ts';

export interface SignInDeps extends Omit<ProviderOptions, 'service' | 'knownClients' | 'consentSkippers'> {
  /** BASE_URL, such as `http://127.0.0.1:8080/api`. */
  baseUrl: string;
  /** SIGN_IN_ISSUER and its companions; or picking a rider at the address listened on; or null: nobody can sign in. */
  who: { upstream: UpstreamSettings } | { pickerAt: string } | null;
  /** Whether TRUST_PROXY is set. */
  proxiesNamed: boolean;
}

/** What the routes of sign-in are made of. Each takes the parts that it needs. */
export interface SignInParts extends ProviderOptions {
  provider: SignInProvider;
  limits: RateLimits;
  pages: PageSender;
  /** How riders authenticate: at the ride-management system's provider, by picking a rider, or not at all. */
  who: UpstreamSignIn | 'picker' | 'nobody';
}

/** Makes the parts. Throws if a client of OAUTH_CLIENTS is refused, or if another machine could pick riders. */
export async function signInParts(deps: SignInDeps): Promise<SignInParts> {
  const { cookieKeys, clients, metadataFetch } = deps;
  const service = serviceUrl(deps.baseUrl);
  const who = whoSignsIn(deps, service);
  const store = sealedStore(deps.store, cookieKeys);
  const limits = rateLimits(store);
  const options: ProviderOptions = {
    ...deps,
    service,
    store,
    knownClients: new Set([...ownIds, ...clients.map(({ client_id: id }) => String(id))]),
    consentSkippers: new Set(clients.filter((each) => each.skip_consent).map(({ client_id: id }) => String(id))),
    metadataFetch: metadataFetch && documentFetch(metadataFetch, limits),
  };
  const provider = await openProvider(options);
  return { ...options, provider, limits, pages: pageSender(service), who };
}

/** Riders are picked without proof, so by a person at this machine only (docs/rules.md#picking-a-rider). */
function whoSignsIn({ who, baseUrl }: SignInDeps, service: ServiceUrl): SignInParts['who'] {
  if (who === null) return 'nobody';
  if ('upstream' in who) return upstreamSignIn(who.upstream, service.origin + paths.callback);
  for (const [name, host] of [
    ['HOST', who.pickerAt],
    ['BASE_URL', new URL(baseUrl).hostname],
  ] as const)
    if (!isLoopback(host))
      throw new Error(
        `Cannot let riders be picked at ${name} ${host}: want a loopback address such as 127.0.0.1, or SIGN_IN_ISSUER for riders to prove who they are`,
      );
  return 'picker';
}
