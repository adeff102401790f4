import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { ran } from '../support/processes/ran.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { listening } from '../support/servers/listening.ts';
import { flowAt, nights } from '../support/sign-in/sign-in-flow.ts';
import { TestBrowser } from '../support/sign-in/test-browser.ts';
import { copyPortland } from '../support/worlds/portland.ts';

const processes = testStack().use(new Processes());

async function serve(env: Env): Promise<RunningService> {
  const service = await processes.start('start', env);
  await service.printed('Ctrl-C stops it.');
  return service;
}

/** Runs a line of shell as it was printed; the answer's status and body. */
async function shell(line: string): Promise<{ status: number; body: string }> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line} -sS -w '\\n%{http_code}'`], { timeout: 20_000 });
  const end = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
}

const curls = (service: RunningService): string[] => service.out().match(/^ *curl .*$/gm) ?? [];
let DATA_DIR: string;
beforeAll(async () => {
  DATA_DIR = join(await processes.folder(), 'made', 'by', 'start');
});

it('start with nothing set prints URLs, a developer key and requests that work, and ends on Ctrl-C without a word', async () => {
  const first = await serve({ DATA_DIR });
  expect(first.out()).toContain(`Base URL       ${first.api}\n`);
  expect(first.out()).toContain(`Docs           ${first.origin}/docs\n`);
  expect(first.out()).toMatch(/Developer key {2}rck_[A-Za-z0-9_-]{43}\n/);
  // A day with rides, and a rider's own nights.
  expect(curls(first)).toHaveLength(2);
  for (const { status, body } of await Promise.all(curls(first).map(shell)))
    expect([status, JSON.parse(body).nights.length]).toEqual([200, expect.toSatisfy((count) => count > 0)]);
  process.kill(first.pid, 'SIGINT');
  expect(await first.ended).toMatchObject({ code: 0, signal: null });
  expect(first.err()).not.toMatch(/error|warn/i);
});

it('start makes a fresh sample once its dates are far away', async () => {
  const later = await serve({ DATA_DIR, NOW: '2031-03-01T12:00:00Z' });
  expect(curls(later)[0]).toMatch(/\/days\/2031-0[23]-\d\d$/);
  // The rider's token lives by the real clock, whatever NOW says: docs/rules.md#clock
  for (const { status } of await Promise.all(curls(later).map(shell))) expect(status).toBe(200);
  expect((await readdir(DATA_DIR)).filter((name) => name.startsWith('sample-'))).toHaveLength(2);
  expect(await later.stop()).toMatchObject({ code: 0, signal: null });
});

// Whoever sits at this machine may be any rider of a made-up log. Of a log that may be somebody's real one nobody, unless
// SIGN_IN=pick says so (docs/rules.md#picking-a-rider); where others reach the page: test/services/serve/http/first-steps.test.ts.
describe('riders', () => {
  let real: Env;
  beforeAll(async () => {
    const ARCHIVE_DIR = await copyPortland(join(await processes.folder(), 'real'));
    real = { ARCHIVE_DIR, NOW: '2015-06-13T19:00:00Z' };
  });
  const tokenIn = (service: RunningService): string | undefined => /Bearer (\S+?)'/.exec(service.out())?.[1];

  /** The page where a rider would be picked. */
  const signInPage = async ({ origin }: RunningService) => {
    const { authorizeUrl, register } = flowAt(origin);
    return new TestBrowser(origin).open(authorizeUrl(await register()));
  };

  it('can not be picked where they may be real: no token is printed, and no page offers them', async () => {
    const service = await serve(real);
    expect(tokenIn(service)).toBeUndefined();
    expect(service.out()).toContain('SIGN_IN=pick');
    // What a projector beside the API has to note: this log is not partitioned as KAFKA_PARTITIONER's default is.
    const noted = { status: 'ready', note: expect.stringContaining('KAFKA_PARTITIONER') };
    expect(await (await fetch(`${service.origin}/readyz`)).json()).toEqual(noted);
    // Nobody has a key of somebody else's log.
    expect(service.out()).toMatch(/X-Api-Key: <developer key>' .*\/days\/2015-06-1\d/);
    const { response, page } = await signInPage(service);
    expect([response.status, page]).toEqual([503, expect.not.stringContaining('value="pick"')]);
    await service.kill();
  });

  it('can be picked where SIGN_IN=pick says so, and a key of the process is printed', async () => {
    const service = await serve({ ...real, SIGN_IN: 'pick' });
    expect((await nights(service.api, tokenIn(service)!)).status).toBe(200);
    expect((await signInPage(service)).page).toContain('value="pick"');
    expect(await flowAt(service.origin).signedIn('r0020')).toMatchObject({ tokens: { scope: 'read' } });
    const someNights = { nights: expect.arrayContaining([expect.anything()]) };
    const [, key, read] = /X-Api-Key: (rck_\S+)' (\S+)/.exec(service.out())!;
    expect(await (await fetch(read!, { headers: { 'X-Api-Key': key! } })).json()).toMatchObject(someNights);
    // The rider whose token is printed sees somebody wherever the page of the documentation asks by itself.
    const [, metro, day] = /metros\/(\S+)\/days\/(\S+)/.exec(service.out())!;
    const to = new Date(Date.parse(day!) + 7 * 86_400_000).toISOString().slice(0, 10);
    const headers = { authorization: `Bearer ${tokenIn(service)}` };
    for (const operation of ['known', 'friends', 'flagged']) {
      const answer = await fetch(`${service.api}/me/${operation}?metro=${metro}&from=${day}&to=${to}`, { headers });
      expect(await answer.json()).toMatchObject(someNights);
    }
    expect(await (await fetch(`${service.origin}/docs`)).text()).toContain(`data-key="${key}"`);
    await service.kill();
  });

  it.each([
    [{ SIGN_IN: 'pick' }, 'nobody', 'the log has no such rider'],
    [{}, 'r0021', 'riders cannot be picked here'],
  ])('%j refuses --rider %s in words, with exit code 2', async (env, rider, said) => {
    const own = { ...real, ...env, PORT: String(await freePort()), LOG_LEVEL: 'silent' };
    const { code, err } = await ran(['start', '--rider', rider], own as Env);
    expect([code, err.join()]).toEqual([2, expect.stringContaining(said)]);
  });
});

it('a port in use is named at once, with what to do', async () => {
  const { port, close } = await listening(createServer());
  const { code, err } = await processes.run(['start'], { PORT: String(port), DATA_DIR });
  close();
  // One line and none of the log's: nothing was folded, and no other projector put off.
  const said = new RegExp(`^Cannot listen on 127.0.0.1:${port}: the port is in use; .*PORT.*\n$`);
  expect([code, err]).toEqual([1, expect.stringMatching(said)]);
});
