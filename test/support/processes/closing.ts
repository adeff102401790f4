import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** Closes once: when the test that began it is over, or all tests of the file that did, unless somebody has before. */
export function closing(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | null = null;
  const once = () => {
    closed ??= close();
    return closed;
  };
  if (TestRunner.getCurrentTest()) onTestFinished(once);
  else afterAll(once);
  return once;
}
