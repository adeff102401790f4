import { closing } from './closing.ts';

/** What a test, or a test file, opens ends with it, the last first. */
export function testStack(): AsyncDisposableStack {
  const stack = new AsyncDisposableStack();
  closing(() => stack.disposeAsync());
  return stack;
}
