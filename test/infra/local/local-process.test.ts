import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startLocalServer } from '../../../infra/local/local-process.ts';

// As Redis does while it rewrites its file: a fork, and its own, fill the folder.
const fork = 'n=0; while [ $n -lt 20000 ]; do mkdir -p "$0/made"; n=$((n+1)); : > "$0/made/$n"; done';

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
