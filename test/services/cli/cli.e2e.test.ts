import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';

const portland = fileURLToPath(new URL('../../data/portland', import.meta.url));
const bin = fileURLToPath(new URL('../../../services/ride-calendar.js', import.meta.url));
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-cli-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

interface RunOptions {
  env?: Record<string, string>;
  /** Before the command's file. */
  nodeArgs?: string[];
  /** Open files that standard output and standard error go to. */
  stdout?: number;
  stderr?: number;
  /** When standard output is read (default: at once). */
  readAfterMs?: number;
}

/** Runs the command with nothing of this process's environment but the path. */
function run(
  args: string[],
  { env = {}, nodeArgs = [], stdout, stderr, readAfterMs = 0 }: RunOptions = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [...nodeArgs, bin, ...args], {
    cwd: dir,
    env: { PATH: process.env.PATH, ...env },
    // One that hangs is killed.
    timeout: 30_000,
    killSignal: 'SIGKILL',
    stdio: ['pipe', stdout ?? 'pipe', stderr ?? 'pipe'],
  });
  let out = '';
  let err = '';
  setTimeout(() => {
    child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk;
    });
  }, readAfterMs);
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, out, err }));
  });
}

/** In this process: starting one takes longer. */
async function told(args: string[], env: Record<string, string> = {}) {
  const { code, out, err } = await heard((io) => runCli(args, io, env));
  return { code, out: out.join('\n'), err: err.join('\n') };
}

const commands = [
  'start',
  'api',
  'projector',
  'topics',
  'simulate',
  'archive save',
  'archive check',
  'archive forget',
  'archive load',
  'replay',
  'history',
  'changes',
  'export',
  'rejected list',
  'rejected resubmit',
];

describe('the command line', () => {
  it('--help lists every command', async () => {
    const { code, out } = await told(['--help']);
    expect(code).toBe(0);
    for (const command of commands) expect(out).toContain(`\n  ${command.split(' ')[0]} `);
  });

  it.each(commands)('%s --help has an example, --json and the exit codes', async (command) => {
    const { code, out } = await told([...command.split(' '), '--help']);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`Examples?:\\n +.*npx ride-calendar ${command}`));
    expect(out).toContain('--json');
    expect(out).toContain('Exit codes:');
  });

  it.each([
    [['simualte'], '(Did you mean simulate?)'],
    [['nonsense'], '"ride-calendar --help" lists the commands'],
    [['archive', 'sav', 'x'], '(Did you mean save?)'],
    [['simulate', '--metro', '3'], '(Did you mean --metros?)'],
    [['simulate', '--rides', '0'], 'from 1 to 1000000'],
    [['simulate', '--rate', '0.5'], 'a whole number'],
    [['topics', 'extra'], 'too many arguments'],
    [['archive', 'save'], 'missing required argument'],
    [[], 'Usage:'],
  ])('%j exits 2 and says what would be right', async (args, words) => {
    const { code, out, err } = await told(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(words);
  });

  it.each(['start', 'topics', 'archive check x', 'history /rides/x'])(
    '%s with wrong settings exits 2 naming each',
    async (command) => {
      const env = { PORT: 'http', REDIS_URL: 'tcp://:hunter2@h', KAFKA_SASL_PASSWORD: 'hunter2' };
      const { code, out, err } = await told(command.split(' '), env);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      for (const name of ['PORT', 'REDIS_URL', 'KAFKA_SASL_PASSWORD']) {
        expect(err).toMatch(new RegExp(`^Cannot use setting ${name}: `, 'm'));
      }
      expect(err).not.toContain('hunter2');
      expect(err).not.toContain('    at ');
    },
  );

  it('a variable that is nearly a setting is a warning', async () => {
    const { err } = await run(['generations', 'list'], { env: { METRIC_PORT: '1' } });
    expect(err).toContain('was METRICS_PORT meant?');
  });

  it.each([['topics'], ['simulate'], ['archive save x'], ['archive load x']])(
    '%s without Kafka exits 2 naming KAFKA_BROKERS',
    async (command) => {
      const { code, out, err } = await told(command.split(' '));
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain('KAFKA_BROKERS is missing');
      expect(err.trim().split('\n')).toHaveLength(1);
    },
  );
});

describe('output to a slow reader', () => {
  it('comes as a whole, long after the command is done', async () => {
    const span = ['--from', '2015-01-01T00:00:00Z', '--to', '2021-01-01T00:00:00Z'];
    const args = ['changes', '--archive', portland, ...span, '--json'];
    const [prompt, late] = await Promise.all([run(args), run(args, { readAfterMs: 4_000 })]);
    expect(prompt.out.length).toBeGreaterThan(1_000_000);
    expect({ code: late.code, same: late.out === prompt.out }).toEqual({ code: 1, same: true });
  });
});

describe('output to a full disk', () => {
  it.each([['--help'], [`history /metros/portland/days/2015-06-13 --archive ${portland}`]])(
    'of %s ends it with one line and exit code 1',
    async (command) => {
      const full = openSync('/dev/full', 'w');
      const { code, err } = await run(command.split(' '), { stdout: full }).finally(() => closeSync(full));
      expect({ code, err }).toEqual({
        code: 1,
        err: 'Cannot write to standard output: ENOSPC: no space left on device, write\n',
      });
    },
  );

  it('loses the log, and the command goes on', async () => {
    const full = openSync('/dev/full', 'w');
    const args = ['history', '/metros/portland/days/2015-06-13', '--archive', portland];
    // A misspelt setting is logged.
    const ended = await run(args, { env: { METRIC_PORT: '1' }, stderr: full }).finally(() => closeSync(full));
    expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('status 404 → 200') });
  });
});

describe('archive save', () => {
  it.each([
    ['a folder that holds other files', 'other', 'other holds other files, want a new or empty folder, or an archive'],
    ['a file', join('other', 'note'), "can't be read (ENOTDIR), want a new or empty folder"],
  ])('refuses %s, and puts nothing there', async (_, target, words) => {
    await mkdir(join(dir, 'other'), { recursive: true });
    await writeFile(join(dir, 'other', 'note'), '');
    const { code, err } = await run(['archive', 'save', target], { env: { KAFKA_BROKERS: '127.0.0.1:1' } });
    expect(code).toBe(2);
    expect(err).toContain(words);
    expect(await readdir(join(dir, 'other'))).toEqual(['note']);
  });
});

describe('a folder', () => {
  it.each([
    ['archive load', ['archive', 'load', '']],
    ['archive save', ['archive', 'save', '']],
    ['archive save', ['archive', 'save', '--follow', '']],
    ['simulate --archive', ['simulate', '--archive=']],
    ['simulate --archive', ['simulate', '--archive', ' ']],
  ])('of %s with an empty name exits 2, and puts nothing into the current folder', async (command, args) => {
    const before = await readdir(dir);
    const { code, out, err } = await run(args, { env: { KAFKA_BROKERS: '127.0.0.1:1' } });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(`Cannot run ${command}: the folder's name is empty`);
    expect(await readdir(dir)).toEqual(before);
  });

  it('of archive load that is not there exits 2 before Kafka is asked, naming the argument', async () => {
    const { code, err } = await run(['archive', 'load', '/nope'], { env: { KAFKA_BROKERS: '127.0.0.1:1' } });
    expect(code).toBe(2);
    expect(err).toMatch(/^Cannot read the archive \/nope: there is no such folder\. archive load: name a folder/);
  });
});

describe('simulate', () => {
  it('names the folders with KAFKA_TOPIC_PREFIX, and tells what the calendar has, and in how many records', async () => {
    const env = { KAFKA_TOPIC_PREFIX: 'other-', NOW: '2026-11-21T12:00:00Z' };
    const sizes = ['--metros', '1', '--riders', '40', '--rides', '5'];
    const { code, out } = await run(['simulate', '--archive', 'prefixed', ...sizes], { env });
    expect(code).toBe(0);
    expect(out).toMatch(/^A calendar around 2026-11-21, in \d+ records\n/);
    const names = await readdir(join(dir, 'prefixed'));
    expect(names.filter((name) => name.includes('nights') || name.includes('riders'))).toEqual([
      'other-nights',
      'other-riders',
    ]);
  });

  it('refuses a folder that has something in it', async () => {
    await mkdir(join(dir, 'taken'));
    await writeFile(join(dir, 'taken/note'), '');
    await writeFile(join(dir, 'taken/second'), '');
    const { code, err } = await run(['simulate', '--archive', 'taken']);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'Cannot run simulate --archive: taken is not empty (it holds note and 1 more), want a new or empty folder\n',
    });
  });
});

it('says which Node it wants, and how to get it, under one that runs no TypeScript', async () => {
  const older = "Object.defineProperty(process.versions, 'node', { value: '20.19.0' })";
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(older)}`];
  expect(await run(['--help'], { nodeArgs })).toEqual({
    code: 2,
    signal: null,
    out: '',
    err: expect.stringMatching(/this is Node 20\.19\.0, want 22\.18 or newer; .*"npm ci && npx ride-calendar …"\n$/),
  });
});
