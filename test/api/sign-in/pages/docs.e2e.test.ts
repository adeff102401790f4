import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseClients } from '../../../../api/sign-in/clients/clients.ts';
import { approve } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { TestBrowser } from '../../../support/sign-in/test-browser.ts';

const docs = (name: string): string => fileURLToPath(new URL(`../../../../docs/${name}`, import.meta.url));
/** The reference for apps, then the operator's guide. */
const guide = readFileSync(docs('oauth.md'), 'utf8') + readFileSync(docs('sign-in.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}(?: \\w+)?\n(.*?)^\`\`\``, 'gms'))].map((match) => match[1]!);

const service = await startSignInService();

/** Runs a program that prints an address, opens it as a rider would, and says what it printed after `answer`. */
async function runAsRider(command: string, args: string[], answer: (end: URL) => Promise<string>): Promise<string> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const ended = once(child, 'close');
  while (!/\/oauth\/authorize\S+\n/.test(output)) await once(child.stdout, 'data');
  const url = /http\S+\/oauth\/authorize\S+/.exec(output)![0];
  output = '';
  child.stdin.end(await answer(await approve(new TestBrowser(service.origin), url)));
  expect((await ended)[0]).toBe(0);
  return output;
}

test('with curl works as it stands', async () => {
  const flow = blocks('sh').filter((block) => block.includes('$BASE/'));
  expect(flow).toHaveLength(3);
  const script = flow.join('\n').replace('http://127.0.0.1:8080', service.origin);
  const args = ['-euc', script.replace(/^CODE=.*$/m, 'read -r CODE')];
  const output = await runAsRider('bash', args, async (end) => `${end.searchParams.get('code')}\n`);
  expect(output).toContain('{"nights":[]');
  expect(output).toContain('"refresh_token"');
});

test('with the example program works as it stands: the whole way to signing out', async () => {
  const { told } = service;
  told.length = 0;
  const output = await runAsRider(process.execPath, [docs('sign-in-example.js'), service.baseUrl], async (end) => {
    await fetch(end);
    return '';
  });
  expect(output).toContain('"nights": []');
  const issued = told.filter(([event]) => event === 'tokens_issued').map(([, facts]) => facts);
  expect(issued).toMatchObject([{ cause: 'code' }, { cause: 'refresh_token' }]);
  expect(told.at(-1)).toMatchObject(['grant_ended', { cause: 'revoked' }]);
  // Nobody is signed in in this browser.
  const signOut = /http\S+\/oauth\/sign-out\S+/.exec(output)![0];
  expect((await new TestBrowser(service.origin).open(signOut)).page).toContain('Go on to an app on this device');
});

test('of a clients’ file is a file that is taken', () => {
  const [file] = blocks('json');
  // As it stands it must not be: nobody should go on with a secret from a guide.
  expect(() => parseClients(file!, 'guide')).toThrow(/client_secret/);
  const clients = parseClients(file!.replace(/what openssl[^"]+/, 'x'.repeat(64)), 'guide');
  expect(clients.map((client) => client.token_endpoint_auth_method)).toEqual(['client_secret_basic', 'none']);
});
