import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../../infra/local/free-port.ts';
import { Processes } from '../../support/processes/process.ts';

const example = fileURLToPath(new URL('../../../docs/website-example.js', import.meta.url));

const processes = new Processes();
afterAll(() => processes.close());

it('the website of docs/reading.md shows 30 days, and is sent what did not change only once', async () => {
  const service = await processes.start(['start', '--json']);
  await service.printed(/"developerKey":"/);
  const key = /"developerKey":"([^"]+)"/.exec(service.out())![1]!;
  const port = await freePort();
  const website = spawn(process.execPath, [example, service.api], {
    env: { ...process.env, KEY: key, PORT: String(port), EVERY_MS: '500' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    website.stdout.on('data', (chunk) => {
      said += chunk;
    });
    while (said.split('30 days').length < 3) await once(website.stdout, 'data');
    expect(said).toContain('30 days, 30 changed\n30 days, 0 changed\n');
    const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(page.split('<li>').length).toBeGreaterThan(30);
  } finally {
    website.kill();
  }
});
