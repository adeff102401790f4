import { expect, it } from 'vitest';
import { CatchUp } from '../../../projector/leading/catch-up.ts';
import { silentMsMax } from '../../../projector/ports/leading.ts';

/** Folds that end when the test says, by the order in which they began, and a clock that waits till it is told. */
function catchingUp() {
  const folds: PromiseWithResolvers<void>[] = [];
  const sleeps: { ms: number; wake(): void }[] = [];
  const catchUp = new CatchUp({
    foldToEnds: () => {
      folds.push(Promise.withResolvers<void>());
      return folds.at(-1)!.promise;
    },
    clock: { nowMs: () => 0, sleep: (ms) => new Promise((wake) => sleeps.push({ ms, wake })) },
    signal: new AbortController().signal,
  });
  return { catchUp, folds, sleeps };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

// docs/rules.md#complete
it('the log is folded once after each doubt, and a doubt is over once the log is folded, or away for a minute', async () => {
  const { catchUp, folds, sleeps } = catchingUp();
  catchUp.after(0);
  expect([catchUp.doubt, folds.length]).toEqual([0, 0]);
  for (const doubt of [1, 1, 2, 2]) catchUp.after(doubt);
  await turn();
  expect([catchUp.doubt, folds.length]).toEqual([0, 2]);
  folds[1]!.resolve();
  await turn();
  expect(catchUp.doubt).toBe(2);
  // What began before ends later: that says nothing of the later doubt.
  folds[0]!.resolve();
  await turn();
  expect(catchUp.doubt).toBe(2);
  catchUp.after(3);
  expect(sleeps.at(-1)!.ms).toBe(silentMsMax);
  sleeps.at(-1)!.wake();
  await turn();
  expect(catchUp.doubt).toBe(3);
});

it('what ends the fold ends whoever asks how far it is', async () => {
  const { catchUp, folds } = catchingUp();
  catchUp.after(1);
  folds[0]!.reject(new Error('no such topic'));
  await turn();
  expect(() => catchUp.doubt).toThrow('no such topic');
});
