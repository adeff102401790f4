import { afterAll } from 'vitest';

/** What a test file opens ends with it, the last first. */
export function testStack(): AsyncDisposableStack {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());
  return stack;
}
