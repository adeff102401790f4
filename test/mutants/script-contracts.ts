import { afterAll, beforeAll, describe } from 'vitest';
import { redisSignInState } from '../../infra/redis/sign-in/redis-sign-in-state.ts';
import { signInStateContract } from '../contracts/sign-in-state.ts';
import { signInScriptCases } from '../infra/redis/sign-in/sign-in-script-cases.ts';
import { viewScriptCases } from '../infra/redis/views/script-cases.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { scriptMutants } from './script-mutants.ts';

function signInScripts(): void {
  signInScriptCases();
  signInStateContract('redis', async () => redisSignInState({ url: redisUrl(), keyPrefix: freshKeyPrefix() }), 300);
}

// The contracts, once for each mutant, and once without: those that fail there judge nothing.
describe('no mutant', () => {
  viewScriptCases();
  signInScripts();
});
for (const mutant of scriptMutants) {
  describe(mutant.name, () => {
    beforeAll(() => mutant.apply());
    afterAll(() => mutant.restore());
    if (mutant.isSignIn) signInScripts();
    else viewScriptCases();
  });
}
