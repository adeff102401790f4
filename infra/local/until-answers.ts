import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalProcess } from './local-process.ts';

/** Waits until something accepts connections at 127.0.0.1:`port`. Throws with the server's output if it ends first. */
export async function untilAnswers(name: string, port: number, server: LocalProcess, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await accepts(port))) {
    if (server.hasExited()) throw new Error(`Cannot start ${name}: it ended at once. It printed:\n${server.output()}`);
    if (Date.now() > deadline) {
      await server.end('SIGKILL');
      throw new Error(
        `Cannot start ${name}: no answer at port ${port} in ${timeoutMs} ms. It printed:\n${server.output()}`,
      );
    }
    await sleep(50);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
