import { setTimeout as sleep } from 'node:timers/promises';

/** Does something at once and then again and again, as a leader beats. Once it is disposed of, nothing is under way. */
export function beating(beat: (n: number) => Promise<unknown>, everyMs = 100): AsyncDisposable {
  const stop = new AbortController();
  const { signal } = stop;
  const done = (async () => {
    for (let n = 1; !signal.aborted; n++) {
      await beat(n);
      await sleep(everyMs, undefined, { signal }).catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}
