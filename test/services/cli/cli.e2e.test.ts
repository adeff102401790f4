import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandLine, runCli } from '../../../services/command-line.ts';
import { heard, quietIo } from '../../support/processes/heard.ts';

const portland = fileURLToPath(new URL('../../data/portland', import.meta.url));
const bin = fileURLToPath(new URL('../../../services/ride-calendar.js', import.meta.url));
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-cli-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** The program of this checkout, for a shell. One that hangs is killed. */
const program = `timeout -s KILL 100 "${process.execPath}" "${bin}"`;

/** Runs a line of shell with nothing of this process's environment but the path. */
async function run(line: string, env: Record<string, string> = {}) {
  const options = { cwd: dir, env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 << 20 };
  const ended = promisify(execFile)('bash', ['--norc', '-o', 'pipefail', '-c', line], options);
  const { code = 0, stdout, stderr } = await ended.catch((error) => error);
  return { code, out: stdout, err: stderr };
}

/** In this process: starting one takes longer. */
async function told(args: string[], env: Record<string, string> = {}) {
  const { code, out, err } = await heard((io) => runCli(args, io, env));
  return { code, out: out.join('\n'), err: err.join('\n') };
}

describe('the command line', () => {
  it('--help of every program of `npm run` prints its usage, and starts nothing', async () => {
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: object };
    const programs = Object.entries(scripts).flatMap(([name, text]: [string, string]) => {
      const [, file] = /^node (\S+\.ts)$/.exec(text) ?? [];
      return file ? [[name, file] as const] : [];
    });
    expect(programs.map(([name]) => name)).toContain('backends');
    for (const [name, file] of programs) {
      const { code, out, err } = await run(`"${process.execPath}" "${join(root, file)}" --help`);
      expect([name, code, err, out]).toEqual([name, 0, '', expect.stringContaining(`npm run ${name}`)]);
    }
  });

  it('--help lists every command, and each has an example, --json and the exit codes it uses', async () => {
    const { commands } = commandLine(quietIo, {});
    const { code, out } = await told(['--help']);
    expect(code).toBe(0);
    const withThree: string[] = [];
    for (const group of commands) {
      expect(out).toContain(`\n  ${group.name()} `);
      for (const command of group.commands.length > 0 ? group.commands : [group]) {
        const words = [...(command === group ? [] : [group.name()]), command.name()];
        const help = await told([...words, '--help']);
        expect(help.code).toBe(0);
        expect(help.out).toMatch(new RegExp(`Examples?:\\n +.*npx ride-calendar ${words.join(' ')}`));
        expect(help.out).toContain('--json');
        expect(help.out).toContain('Exit codes:');
        if (/^ {2}3 {2}/m.test(help.out)) withThree.push(words.join(' '));
      }
    }
    expect(withThree).toEqual(['lag', 'verify', 'archive check']);
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

  it('a command with wrong settings exits 2 naming each', async () => {
    const env = { PORT: 'http', REDIS_URL: 'tcp://:hunter2@h', KAFKA_SASL_PASSWORD: 'hunter2' };
    const { code, out, err } = await told(['history', '/rides/x'], env);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    for (const name of ['PORT', 'REDIS_URL', 'KAFKA_SASL_PASSWORD']) {
      expect(err).toMatch(new RegExp(`^Cannot use setting ${name}: `, 'm'));
    }
    expect(err).not.toContain('hunter2');
    expect(err).not.toContain('    at ');
  });

  it.each(['topics', 'simulate', 'archive save x', 'archive load x'])(
    '%s without Kafka exits 2 naming it',
    async (command) => {
      const { code, out, err } = await told(command.split(' '));
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toMatch(/^Cannot run .*: KAFKA_BROKERS is missing.*$/);
    },
  );
});

it('output to a slow reader comes as a whole, long after the command is done', async () => {
  const span = '--from 2015-01-01T00:00:00Z --to 2021-01-01T00:00:00Z';
  const changes = `${program} changes --archive "${portland}" ${span} --json`;
  const [prompt, late] = await Promise.all([run(changes), run(`${changes} | (sleep 4; cat)`)]);
  expect(prompt.out.length).toBeGreaterThan(1_000_000);
  expect({ code: late.code, same: late.out === prompt.out }).toEqual({ code: 1, same: true });
});

describe('output whose reader ends', () => {
  const printed = (archive: string) => `${program} records print --archive "${archive}"`;

  it('ends a command that only prints, in silence', async () => {
    const { code, out, err } = await run(`${printed(portland)} --topic attendance | head -1`);
    expect({ code, lines: out.split('\n').length, err }).toEqual({ code: 0, lines: 2, err: '' });
  });

  it('leaves what is published whole, and an exit code that says what was found', async () => {
    const publish = (archive: string) => `${program} records publish --archive ${archive}`;
    const { code } = await run(`${printed(portland)} | ${publish('copied')} --json | head -1`);
    const [all, copied] = await Promise.all([run(printed(portland)), run(printed('copied'))]);
    expect({ code, same: copied.out.length }).toEqual({ code: 0, same: all.out.length });
    await run(`${printed(portland)} --topic rides | ${publish('orphans')}`);
    expect((await run(`${program} records check --archive orphans --strict | true`)).code).toBe(1);
  });
});

describe('output to a full disk', () => {
  const history = `${program} history /metros/portland/days/2015-06-13 --archive "${portland}"`;

  it('ends a command with one line and exit code 1', async () => {
    const { code, err } = await run(`${history} > /dev/full`);
    expect({ code, err }).toEqual({
      code: 1,
      err: 'Cannot write to standard output: ENOSPC: no space left on device, write\n',
    });
  });

  it('names the file of an archive or export that does not fit, and leaves nothing', async () => {
    for (const command of [`export large --archive "${portland}"`, 'simulate --archive large']) {
      const { code, err } = await run(`ulimit -f 4; ${program} ${command}`);
      expect([code, err]).toEqual([1, expect.stringMatching(/^Cannot write \S+\.(avro|parquet): EFBIG/m)]);
      expect((await readdir(dir)).filter((name) => name.includes('large'))).toEqual([]);
    }
  });

  it('loses the log, and the command goes on', async () => {
    // A misspelt setting is logged.
    const env = { METRIC_PORT: '1' };
    expect((await run(`${program} generations list`, env)).err).toContain('was METRICS_PORT meant?');
    expect(await run(`${history} 2> /dev/full`, env)).toMatchObject({
      code: 0,
      out: expect.stringContaining('status 404 → 200'),
    });
  });
});

describe('a folder', () => {
  const kafka = { KAFKA_BROKERS: '127.0.0.1:1' };

  it.each([
    [['archive', 'load', ''], "Cannot run archive load: the folder's name is empty"],
    [['archive', 'check', ''], "Cannot run archive check: the folder's name is empty (an unset variable?)"],
    [['archive', 'check', '/nope'], 'Cannot read the archive /nope: there is no such folder'],
    [['archive', 'forget', 'ada', '/nope'], 'Cannot read the archive /nope: there is no such folder'],
    [['archive', 'save', ''], "Cannot run archive save: the folder's name is empty"],
    [['simulate', '--archive', ' '], "Cannot run simulate --archive: the folder's name is empty"],
    [['archive', 'load', '/nope'], 'Cannot read the archive /nope: there is no such folder. archive load: name a'],
    [['export', '', '--archive', portland], "the folder's name is empty"],
  ])('%j is refused, with exit code 2', async (args, words) => {
    const { code, out, err } = await told(args, kafka);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(words);
  });

  it('that holds other files is no place for an archive, and neither is a file', async () => {
    const other = join(dir, 'other');
    await mkdir(other);
    for (const name of ['note', 'second']) await writeFile(join(other, name), '');
    for (const [args, words] of [
      [['archive', 'save', other], 'other holds other files, want a new or empty folder, or an archive'],
      [['archive', 'save', join(other, 'note')], "can't be read (ENOTDIR), want a new or empty folder"],
      [['export', other], 'other is not empty (it holds note and 1 more), want a new or empty'],
      [['simulate', '--archive', other], 'other is not empty (it holds note and 1 more), want a new or empty folder'],
    ] as const) {
      const archive = args[0] === 'export' ? { ARCHIVE_DIR: portland } : kafka;
      const { code, err } = await told([...args], archive);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(words) });
    }
    expect(await readdir(other)).toEqual(['note', 'second']);
  });

  it('of simulate --archive has folders named with KAFKA_TOPIC_PREFIX; what the calendar has is told', async () => {
    const env = { KAFKA_TOPIC_PREFIX: 'other-', NOW: '2026-11-21T12:00:00Z' };
    const sizes = ['--metros', '1', '--riders', '40', '--rides', '5'];
    const { code, out } = await told(['simulate', '--archive', join(dir, 'prefixed'), ...sizes], env);
    expect(code).toBe(0);
    expect(out).toMatch(/^A calendar around 2026-11-21, in \d+ records/);
    expect(await readdir(join(dir, 'prefixed'))).toEqual(expect.arrayContaining(['other-nights', 'other-riders']));
  });
});

it('says which Node it wants, and how to get it, under one that runs no TypeScript', async () => {
  const older = "Object.defineProperty(process.versions, 'node', { value: '20.19.0' })";
  const options = `--import "data:text/javascript,${encodeURIComponent(older)}"`;
  expect(await run(`"${process.execPath}" ${options} "${bin}" --help`)).toEqual({
    code: 2,
    out: '',
    err: expect.stringMatching(/this is Node 20\.19\.0, want 22\.18 or newer; .*"npm ci && npx ride-calendar …"\n$/),
  });
});
