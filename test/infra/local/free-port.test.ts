import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { freePort } from '../../../infra/local/free-port.ts';

it('gives no port that a process that still runs was given, though nobody listens there yet', async () => {
  const file = fileURLToPath(new URL('../../../infra/local/free-port.ts', import.meta.url));
  const script = `const { freePort } = await import(${JSON.stringify(file)}); console.log(await freePort()); process.stdin.resume();`;
  const other = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(other, 'close');
  const theirs = Number(await once(other.stdout, 'data'));
  const drawn = (theirs + 0.5 - 20_000) / 10_000;
  const random = vi.spyOn(Math, 'random').mockReturnValueOnce(drawn);
  try {
    expect(await freePort()).not.toBe(theirs);
    expect(random.mock.calls.length).toBeGreaterThan(1);
    other.stdin.end();
    await ended;
    random.mockReturnValueOnce(drawn);
    const ours = await freePort();
    expect(ours).toBe(theirs);
    random.mockReturnValueOnce(drawn);
    expect(await freePort()).not.toBe(ours);
  } finally {
    random.mockRestore();
    other.kill();
  }
});
