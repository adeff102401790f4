import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../../infra/local/local-backends.ts', import.meta.url));

it.each([
  ['--help', { status: 0, stdout: /^npm run backends\n/, stderr: /^$/ }],
  ['--kafka', { status: 2, stdout: /^$/, stderr: /^It takes no arguments\.\n\nnpm run backends\n/ }],
])('npm run backends %s says what it does, and starts nothing', (argument, { status, stdout, stderr }) => {
  const said = spawnSync(process.execPath, [script, argument], { encoding: 'utf8' });
  expect(said).toEqual(
    expect.objectContaining({ status, stdout: expect.stringMatching(stdout), stderr: expect.stringMatching(stderr) }),
  );
});
