import { afterAll, beforeAll, describe } from 'vitest';
import type { ViewReader } from '../../api/ports/view-reader.ts';
import { redisSignInState } from '../../infra/redis/sign-in/redis-sign-in-state.ts';
import { leadershipContract } from '../contracts/leadership.ts';
import { signInStateContract } from '../contracts/sign-in-state.ts';
import { signInScriptCases } from '../infra/redis/sign-in/sign-in-script-cases.ts';
import { connectionInMemory, scriptCases } from '../infra/redis/views/script-cases.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { SharedStore } from '../support/stores/shared-store.ts';
import { scriptMutants } from './script-mutants.ts';

function viewScripts(): void {
  scriptCases('a Redis in memory', connectionInMemory);
  leadershipContract('a Redis in memory', async () => {
    const store = new SharedStore();
    return {
      writer: async () => store.writer(),
      reader: () => ({ ...store.reader(), close: async () => {} }) as unknown as ViewReader,
      empty: async () => store.redis.empty(),
      close: async () => {},
    };
  });
}

function signInScripts(): void {
  signInScriptCases();
  signInStateContract('redis', async () => redisSignInState({ url: redisUrl(), keyPrefix: freshKeyPrefix() }));
}

// The contracts, once for each mutant, and once without: those that fail there judge nothing.
describe('no mutant', () => {
  viewScripts();
  signInScripts();
});
for (const mutant of scriptMutants) {
  describe(mutant.name, () => {
    beforeAll(() => mutant.apply());
    afterAll(() => mutant.restore());
    if (mutant.isSignIn) signInScripts();
    else viewScripts();
  });
}
