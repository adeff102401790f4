import { expect, it } from 'vitest';
import { StoreAwayError } from '../../../../api/ports/view-reader.ts';
import { probeSignIn } from '../../../../services/serve/sign-in/sign-in-probe.ts';

const trouble = "Sign-in's Redis (AUTH_REDIS_URL) cannot be reached (ECONNREFUSED)";
const address = 'connect ECONNREFUSED 10.1.2.3:6379';
const away = new StoreAwayError(trouble, { cause: new Error(address) });

/** A probe that finds what is given, time after time; all that it logged, its last state, its waits, and how long what it put lives. */
async function probed(finds: (Error | null)[]) {
  const logged: string[] = [];
  const ending = new AbortController();
  const left = [...finds];
  const [waits, lives]: [number[], Set<number | undefined>] = [[], new Set()];
  const put: Parameters<typeof probeSignIn>[0]['put'] = async (_kind, _id, _value, { lifeSeconds }) => {
    lives.add(lifeSeconds);
    const found = left.shift();
    if (found) throw found;
  };
  const sleep = async (ms: number) => {
    waits.push(ms);
    if (left.length === 0) ending.abort();
  };
  const say = (line: unknown) => void logged.push(String(line));
  const trouble = probeSignIn({ put }, { info: say, warn: say }, ending.signal, sleep);
  while (!ending.signal.aborted) await new Promise((resolve) => setImmediate(resolve));
  return { logged, trouble, waits, lives: [...lives] };
}

it('the probe of sign-in’s store logs each cause once when nobody can sign in, and once when riders can again', async () => {
  const full = new StoreAwayError("Sign-in's Redis (AUTH_REDIS_URL) is full (OOM); raise its maxmemory");
  const { logged, trouble: found, waits, lives } = await probed([null, away, away, full, full, null, null]);
  expect(logged).toEqual([
    `Nobody can sign in or refresh: ${trouble}: ${address}`,
    expect.stringContaining('is full (OOM)'),
    "Sign-in's Redis takes writes again: riders can sign in",
  ]);
  expect(found()).toBeNull();
  // A first connection takes a moment.
  expect([waits, lives]).toEqual([[1_500, ...Array(7).fill(5_000)], [60]]);
  // Everybody may read what is found: no more than the log says where the fault is another one.
  expect((await probed([new Error(address)])).trouble()).toBe('the log says why');
});
