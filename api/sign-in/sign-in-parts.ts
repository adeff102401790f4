import type { Grants } from '../oauth/grants.ts';
import type { Library } from '../oauth/library.ts';
import type { LibraryOptions } from '../oauth/library-adapter.ts';
import type { RateLimits } from '../oauth/rate-limit.ts';
import type { Csrf } from './csrf.ts';
import type { PageSender } from './page-sender.ts';
import type { UpstreamSignIn } from './upstream-sign-in.ts';

/** What the routes of sign-in share. register-sign-in.ts makes it. */
export interface SignInParts extends LibraryOptions {
  library: Library;
  grants: Grants;
  limits: RateLimits;
  pages: PageSender;
  csrf: Csrf;
  /** How riders authenticate: at their own provider, by picking a rider, or not at all. */
  who: UpstreamSignIn | 'picker' | 'nobody';
}
