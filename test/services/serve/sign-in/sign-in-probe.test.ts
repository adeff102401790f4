import { expect, it } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { probeSignIn } from '../../../../services/serve/sign-in/sign-in-probe.ts';

const trouble = "Sign-in's Redis (AUTH_REDIS_URL) cannot be reached (ECONNREFUSED)";
const address = 'connect ECONNREFUSED 10.1.2.3:6379';
const away = new StoreAwayError(trouble, { cause: new Error(address) });

/** A probe that finds what is given, time after time; all that it logged, and its last state. */
async function probed(finds: (Error | null)[]) {
  const logged: string[] = [];
  const ending = new AbortController();
  const left = [...finds];
  const put = async () => {
    const found = left.shift();
    if (found) throw found;
  };
  const sleep = async () => {
    if (left.length === 0) ending.abort();
  };
  const say = (line: unknown) => void logged.push(String(line));
  const trouble = probeSignIn({ put }, { info: say, warn: say }, ending.signal, sleep);
  while (!ending.signal.aborted) await new Promise((resolve) => setImmediate(resolve));
  return { logged, trouble };
}

it('the probe of sign-in’s store logs each cause once when nobody can sign in, and once when riders can again', async () => {
  const full = new StoreAwayError("Sign-in's Redis (AUTH_REDIS_URL) is full (OOM); raise its maxmemory");
  const { logged, trouble: found } = await probed([null, away, away, full, full, null, null]);
  expect(logged).toEqual([
    `Nobody can sign in or refresh: ${trouble}: ${address}`,
    expect.stringContaining('is full (OOM)'),
    "Sign-in's Redis takes writes again: riders can sign in",
  ]);
  expect(found()).toBeNull();
  // Everybody may read what is found: no more than the log says where the fault is another one.
  expect((await probed([new Error(address)])).trouble()).toBe('the log says why');
});
