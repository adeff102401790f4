import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stopSignal } from '../../../services/cli/stop-signal.ts';

test('a signal finds our listener until all have been called, because signal-exit ends a process that only it listens for', async () => {
  const others = process.listeners('SIGTERM');
  const stop = stopSignal();
  let seen = 0;
  const like = () => {
    seen = process.listenerCount('SIGTERM') - others.length;
  };
  process.on('SIGTERM', like);
  try {
    for (const listener of process.listeners('SIGTERM').slice(others.length)) listener('SIGTERM');
    expect([stop.aborted, seen]).toEqual([true, 2]);
    // The second signal ends the process.
    await nextTurn();
    expect(process.listeners('SIGTERM')).toEqual([...others, like]);
  } finally {
    process.off('SIGTERM', like);
  }
});
