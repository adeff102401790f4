import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const file = fileURLToPath(new URL('../../../infra/local/local-backends.ts', import.meta.url));

/** `npm run backends`, where both servers are there already. It is told to end once it has said that they answer. */
async function backends(...args: string[]) {
  const env = { ...process.env, KAFKA_BROKERS: 'kafka:1', REDIS_URL: 'redis://redis:2' };
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.out += text;
    if (said.out.includes('Ctrl-C stops both')) child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text) => (said.err += text));
  const [code] = await once(child, 'close');
  return { code, ...said };
}

it('names the servers that it found, in lines to paste, until it is told to end', async () => {
  const lines = '\n  export KAFKA_BROKERS=kafka:1\n  export REDIS_URL=redis://redis:2\n  npx ride-calendar topics ';
  expect(await backends()).toEqual({ code: 0, out: expect.stringContaining(lines), err: '' });
});

it('takes no arguments', async () => {
  expect(await backends('--help')).toMatchObject({
    code: 0,
    out: expect.stringContaining('KAFKA_BROKERS or REDIS_URL'),
  });
  expect(await backends('x')).toMatchObject({ code: 2, err: expect.stringContaining('It takes no arguments.') });
});
