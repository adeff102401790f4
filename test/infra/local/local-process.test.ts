import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startLocalServer } from '../../../infra/local/local-process.ts';

// As Redis does while it rewrites its file: a fork, and its own, fill the folder. Where `:` cannot write, it ends its shell.
const fork = 'n=0; while [ $n -lt 20000 ]; do mkdir -p "$0/made"; n=$((n+1)); true > "$0/made/$n"; done';

test('a server that is stopped takes with it whom it forked, and leaves no folder', async () => {
  const server = await startLocalServer('forking', async (folder) => ({
    command: 'sh',
    args: ['-c', `sh -c '${fork}' "$0" & echo up; wait`, folder],
    up: 'up',
  }));
  await server.stop();
  await sleep(50);
  expect(existsSync(server.folder)).toBe(false);
});

test('a server ends with who started it, killed or not, and leaves no folder', async () => {
  const module = fileURLToPath(new URL('../../../infra/local/local-process.ts', import.meta.url));
  const script = `const { startLocalServer } = await import(${JSON.stringify(module)});
    const run = { command: 'sh', args: ['-c', 'echo up; sleep 600'], up: 'up' };
    const { pid, folder } = await startLocalServer('left', async () => run);
    console.log(JSON.stringify({ pid, folder }));
    process.stdin.resume();`;
  const args = ['--input-type=module', '-e', script];
  const starter = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const { pid, folder } = JSON.parse(String(await once(starter.stdout, 'data')));
  expect([existsSync(`/proc/${pid}`), existsSync(folder)]).toEqual([true, true]);
  starter.kill('SIGKILL');
  await expect.poll(() => [existsSync(`/proc/${pid}`), existsSync(folder)]).toEqual([false, false]);
});

test('a server that ends at once is said with what it printed last, and leaves no folder', async () => {
  let made = '';
  const starting = startLocalServer('broken', async (folder) => {
    made = folder;
    return { command: 'sh', args: ['-c', 'seq 20000; echo why; exit 3'], up: 'never' };
  });
  await expect(starting).rejects.toThrow(
    /^Cannot start broken: it ended at once. It printed:\n[\s\S]{1,20000}\nwhy\n$/,
  );
  expect(existsSync(made)).toBe(false);
});
