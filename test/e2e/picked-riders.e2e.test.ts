import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { authorizeUrl, nights, register, signedIn } from '../support/sign-in/sign-in-flow.ts';
import { newPkce, TestBrowser } from '../support/sign-in/test-browser.ts';
import { portlandDirectory } from '../support/worlds/portland.ts';

// Whoever sits at this machine may be any rider of a made-up log (first-minutes.e2e.test.ts). Of a log that may be somebody's
// real one: nobody, unless SIGN_IN=pick says so.

const processes = new Processes();
let real: string;
beforeAll(async () => {
  real = join(await processes.folder(), 'real');
  await cp(portlandDirectory, real, { recursive: true });
});
afterAll(() => processes.close());

async function serve(env: Env): Promise<RunningService> {
  const service = await processes.start('start', env);
  await service.printed('Ctrl-C stops it.');
  return service;
}

const tokenIn = (service: RunningService): string | undefined => /Bearer (\S+?)'/.exec(service.out())?.[1];

/** The page where a rider would be picked. */
async function signInPage(service: RunningService): Promise<{ status: number; page: string }> {
  const client = await register(service.origin);
  const { response, page } = await new TestBrowser(service.origin).open(
    authorizeUrl(service.origin, client, newPkce()),
  );
  return { status: response.status, page };
}

describe('riders of an archive', () => {
  it('can not be picked where it may be real: no token is printed, and no page offers them', async () => {
    const service = await serve({ ARCHIVE_DIR: real, NOW: '2015-06-13T19:00:00Z' });
    expect(tokenIn(service)).toBeUndefined();
    expect(service.out()).toContain('SIGN_IN=pick');
    // Nobody has a key of somebody else's log.
    expect(service.out()).toMatch(/X-Api-Key: <developer key>' .*\/days\/2015-06-1\d/);
    const { status, page } = await signInPage(service);
    expect(status).toBe(503);
    expect(page).not.toContain('value="pick"');
    await service.stop();
  });

  it('can be picked where SIGN_IN=pick says so, and a key of the process is printed', async () => {
    const service = await serve({ ARCHIVE_DIR: real, SIGN_IN: 'pick', NOW: '2015-06-13T19:00:00Z' });
    expect((await nights(service.api, tokenIn(service)!)).status).toBe(200);
    expect((await signInPage(service)).page).toContain('value="pick"');
    expect(await signedIn(service.origin, 'r0020')).toMatchObject({ tokens: { scope: 'read' } });
    const [, key, read] = /X-Api-Key: (rck_\S+)' (\S+)/.exec(service.out())!;
    const shown = await fetch(read!, { headers: { 'X-Api-Key': key! } });
    expect(await shown.json()).toMatchObject({ nights: expect.arrayContaining([expect.anything()]) });
    // The rider whose token is printed sees somebody wherever the page of the documentation asks by itself.
    const [, metro, day] = /metros\/(\S+)\/days\/(\S+)/.exec(service.out())!;
    const to = new Date(Date.parse(day!) + 7 * 86_400_000).toISOString().slice(0, 10);
    for (const operation of ['known', 'friends', 'flagged']) {
      const url = `${service.api}/me/${operation}?metro=${metro}&from=${day}&to=${to}`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${tokenIn(service)}` } });
      expect(await answer.json()).toMatchObject({ nights: expect.arrayContaining([expect.anything()]) });
    }
    const docs = await (await fetch(`${service.origin}/docs`)).text();
    expect(docs).toContain(`data-key="${key}"`);
    await service.stop();
  });

  it('start --json --rider prints the token of the rider that a test wants to be', async () => {
    const env = { ARCHIVE_DIR: real, SIGN_IN: 'pick', NOW: '2015-06-13T19:00:00Z' };
    const service = await processes.start(['start', '--json', '--rider', 'r0021'], env);
    await service.printed(/"token":"/);
    const { rider, token, developerKey, baseUrl } = JSON.parse(service.out());
    expect(rider).toBe('r0021');
    expect((await nights(baseUrl, token)).status).toBe(200);
    const [, claims] = token.split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ sub: 'r0021' });
    expect(developerKey).toMatch(/^rck_/);
    await service.stop();
  });

  it.each([
    [{ SIGN_IN: 'pick' }, 'nobody', 'the log has no such rider'],
    [{}, 'r0021', 'riders cannot be picked here'],
  ])('%j refuses --rider %s in words, with exit code 2', async (env, rider, words) => {
    const service = await processes.start(['start', '--rider', rider], { ARCHIVE_DIR: real, ...(env as Env) });
    const { code, err } = await service.ended;
    expect(code).toBe(2);
    expect(err).toContain(words);
  });
});
