import { execFile } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ran } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { portlandDirectory as portland } from '../../support/worlds/portland.ts';

// What only a process shows. Commands within this one are in command-line.test.ts: starting a process takes longer.

const bin = fileURLToPath(new URL('../../../services/ride-calendar.js', import.meta.url));
/** The program of this checkout, for a shell. One that hangs is killed. */
const program = `timeout -s KILL 100 "${process.execPath}" "${bin}"`;
const dir = testFolder();

/** Runs a line of shell with nothing of this process's environment but the path. */
async function run(line: string, env: Record<string, string> = {}) {
  const options = { cwd: dir, env: { PATH: process.env.PATH, ...env }, maxBuffer: 64 << 20 };
  const ended = promisify(execFile)('bash', ['--norc', '-o', 'pipefail', '-c', line], options);
  const { code = 0, stdout, stderr } = await ended.catch((error) => error);
  return { code, out: stdout, err: stderr };
}

const printed = async (archive: string) => (await ran(['records', 'print', '--archive', archive])).out;
const print = `${program} records print --archive "${portland}"`;
const example = fileURLToPath(new URL('../../../docs/example-records.jsonl', import.meta.url));

it('output to a slow reader comes as a whole, long after the command is done', async () => {
  const { code, out } = await run(`${print} | (sleep 4; cat)`);
  expect(out.length).toBeGreaterThan(1_000_000);
  expect({ code, same: out === `${(await printed(portland)).join('\n')}\n` }).toEqual({ code: 0, same: true });
});

it('output whose reader ends ends a command that only prints, in silence; one that publishes does its work, and its exit code says what was found', async () => {
  const { code, out, err } = await run(`${print} --topic attendance | head -1`);
  expect({ code, lines: out.split('\n').length, err }).toEqual({ code: 0, lines: 2, err: '' });
  expect((await run(`${program} records publish "${example}" --archive copied --json | true`)).code).toBe(0);
  expect(await printed(join(dir, 'copied'))).toHaveLength(9);
  expect((await run(`${program} records check "${bin}" | true`)).code).toBe(1);
});

it('output to a full disk ends a command with one line and exit code 1; a log is lost, and the command goes on', async () => {
  // A misspelt setting is logged.
  const env = { METRIC_PORT: '1' };
  const check = `${program} records check "${example}"`;
  const { code, err } = await run(`${check} > /dev/full`, env);
  const fault = 'Cannot write to standard output: ENOSPC: no space left on device, write';
  expect({ code, err: err.split('\n') }).toEqual({ code: 1, err: [expect.stringContaining('meant?'), fault, ''] });
  const out = expect.stringContaining('9 records');
  expect(await run(`${check} 2> /dev/full`, env)).toMatchObject({ code: 0, out });
});

it('output that does not fit names the file of an archive or export, and leaves nothing', async () => {
  for (const command of [`export large --archive "${portland}"`, 'simulate --archive large --riders 300']) {
    const { code, err } = await run(`ulimit -f 4; ${program} ${command}`);
    expect([code, err]).toEqual([1, expect.stringMatching(/^Cannot write \S+\.(avro|parquet): EFBIG/m)]);
    expect((await readdir(dir)).filter((name) => name.includes('large'))).toEqual([]);
  }
});

it('- is standard input, of replay for paths and for offsets', async () => {
  await ran(['records', 'publish', example, '--archive', join(dir, 'small')]);
  const asOf = ['--archive', join(dir, 'small'), '--as-of', '2999-01-01T00:00:00Z'];
  await writeFile(join(dir, 'at.json'), (await ran(['replay', ...asOf, '--json'])).out.join());
  const ofOffsets = await run(`cat at.json | ${program} replay --archive small --offsets - --get /rides/taco`);
  expect(ofOffsets.out).toContain('"ride":"taco"');
  const ofPath = await run(`echo /rides/taco | ${program} replay ${asOf.join(' ')} --from-file -`);
  expect(ofPath.out).toContain('"path":"/rides/taco"');
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
