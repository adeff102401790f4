import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../../infra/local/free-port.ts';
import { ExportInDuckDb } from '../../support/servers/duckdb.ts';
import { pythonWith } from '../../support/servers/python-package.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { copyPortland } from '../../support/worlds/portland.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const guide = readFileSync(join(root, 'docs/data.md'), 'utf8');

interface Block {
  language: string;
  text: string;
}
const blocks: Block[] = [...guide.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(([, language, text]) => ({
  language: language!,
  text: text!,
}));

let dir: string;
beforeAll(async () => {
  // A folder that looks as a clean clone does to the commands, and may be written to.
  dir = mkdtempSync(join(tmpdir(), 'data-docs-'));
  mkdirSync(join(dir, 'test/data'), { recursive: true });
  await copyPortland(join(dir, 'test/data/portland'));
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  mkdirSync(join(dir, 'bin'));
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(root, 'services/ride-calendar.js')}" "$@"\n`;
  writeFileSync(join(dir, 'bin/npx'), npx, { mode: 0o755 });
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Nights that were called off, of timestamps that no calendar has. */
async function archiveOfAnyTime(): Promise<string> {
  const archive = await TestArchive.make(1);
  const value = { ...sampleRecords.nights, status: 'CANCELLED', changed_at: 2n ** 63n - 1n } as const;
  const times = [-(2n ** 63n), 1_700_000_000_000_000_000n];
  await archive.append(
    'nights',
    0,
    times.map((timestampMs) => ({ key: 'ride0001/2015-06-13', value, timestampMs })),
  );
  return archive.dir;
}

const env = (more: Record<string, string> = {}) => ({
  PATH: `${join(dir, 'bin')}:${process.env.PATH}`,
  LOG_LEVEL: 'silent',
  ...more,
});

async function bash(script: string, more: Record<string, string> = {}): Promise<string> {
  const options = { cwd: dir, env: env(more), maxBuffer: 64 << 20 };
  const { stdout } = await promisify(execFile)('bash', ['-euc', script], options);
  return stdout;
}

/** Runs a command that serves until it has said where, and ends it. */
async function serveBriefly(script: string, more: Record<string, string> = {}): Promise<string> {
  const child = spawn('bash', ['-euc', script], { cwd: dir, env: env(more), detached: true });
  let out = '';
  for await (const chunk of child.stdout) {
    out += chunk;
    if (out.includes('Ctrl-C stops it.')) break;
  }
  const ended = once(child, 'exit');
  process.kill(-child.pid!, 'SIGTERM');
  await ended;
  return out;
}

/** On a port that is free. */
const elsewhere = async (text: string): Promise<string> => text.replace('PORT=8090', `PORT=${(await freePorts(1))[0]}`);

const portland = { ARCHIVE_DIR: 'test/data/portland' };
const isServing = (text: string): boolean => text.includes('--serve');
const needsKafka = (text: string): boolean => text.includes('KAFKA_BROKERS=');

it('the guide for data teams has commands that print what it says, SQL that finds something, and Python that reads the archive', {
  timeout: 600_000,
}, async () => {
  const programs = await pythonWith('fastavro', '1.13.1');
  for (const [i, { language, text }] of blocks.entries()) {
    const next = blocks[i + 1];
    let out = '';
    if (language === 'sh' && isServing(text)) {
      expect(await serveBriefly(await elsewhere(text), portland)).toContain('As of 2015-06-13T19:00:00.000Z');
    } else if (language === 'sh' && !needsKafka(text)) {
      out = await bash(text, portland);
    } else if (language === 'python' && text.includes('fastavro.reader')) {
      const options = { cwd: dir, maxBuffer: 64 << 20 };
      const python = async (script: string) =>
        (await promisify(execFile)(join(programs, 'python'), ['-c', script], options)).stdout;
      out = await python(text);
      // docs/rules.md#timestamps
      expect(await python(text.replace('test/data/portland', await archiveOfAnyTime()))).toMatch(
        /^0001-01-01T00:00:00\+00:00 .*\n9999-12-31T23:59:59.999000\+00:00 /,
      );
    } else if (language === 'sql') {
      using tables = await ExportInDuckDb.open(join(dir, 'portland-tables'));
      const statements = text.split(';').filter((statement) => statement.trim() !== '');
      for (const statement of statements) expect((await tables.rows(statement)).length).toBeGreaterThan(0);
    }
    if (out !== '' && next?.language === 'text') expect(out.trimEnd()).toBe(next.text.trimEnd());
  }
});

it('README’s request has the answer that it shows', { timeout: 60_000 }, async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const path = /'http:\/\/127\.0\.0\.1:8080\/api(\/[^']+)'/.exec(readme)![1]!;
  const shown = /^```json\n(.*?)^```/ms.exec(readme)![1]!;
  const asked = `npx ride-calendar replay --as-of 2015-06-13T19:00:00Z --get '${path}'`;
  expect(JSON.parse(await bash(asked, portland))).toEqual(JSON.parse(shown));
});

it('the page on missing rides shows what why says', { timeout: 60_000 }, async () => {
  const page = readFileSync(join(root, 'docs/why-is-my-ride-missing.md'), 'utf8');
  const [, asked, said] = /^```sh\n(.*?)\n```\n\n```text\n(.*?)^```/ms.exec(page)!;
  // A record that is hidden is exit code 1.
  expect(await bash(`${asked} || test $? = 1`)).toBe(said);
});
