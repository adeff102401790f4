import type { RateLimits } from '../clients/rate-limit.ts';
import type { Grants } from '../provider/grants.ts';
import type { SignInProvider } from '../provider/provider.ts';
import type { ProviderOptions } from '../provider/provider-options.ts';
import type { UpstreamSignIn } from '../provider/upstream-sign-in.ts';
import type { Csrf } from './csrf.ts';
import type { PageSender } from './page-sender.ts';

/** What the routes of sign-in share. register-sign-in.ts makes it. */
export interface SignInParts extends ProviderOptions {
  provider: SignInProvider;
  grants: Grants;
  limits: RateLimits;
  pages: PageSender;
  csrf: Csrf;
  /** How riders authenticate: at their own provider, by picking a rider, or not at all. */
  who: UpstreamSignIn | 'picker' | 'nobody';
}
