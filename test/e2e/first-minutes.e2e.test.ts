import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Processes, type RunningService } from '../support/processes/process.ts';

const processes = new Processes();
afterAll(() => processes.close());

/** Runs a line of shell as it was printed; the answer's status and body. */
async function shell(line: string): Promise<{ status: number; body: string }> {
  const { stdout } = await promisify(execFile)('sh', ['-c', `${line} -sS -w '\\n%{http_code}'`], { timeout: 20_000 });
  const end = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
}

const curls = (service: RunningService): string[] => service.out().match(/^ *curl .*$/gm) ?? [];

describe('start with nothing set', () => {
  let dataDir: string;
  let first: RunningService;
  beforeAll(async () => {
    dataDir = join(await processes.folder(), 'made', 'by', 'start');
    first = await processes.start('start', { DATA_DIR: dataDir });
    await first.printed('Ctrl-C stops it.');
  });

  it('prints base URL, docs URL and a developer key', () => {
    expect(first.out()).toContain(`Base URL       ${first.api}\n`);
    expect(first.out()).toContain(`Docs           ${first.origin}/docs\n`);
    expect(first.out()).toMatch(/Developer key {2}rck_[A-Za-z0-9_-]{43}\n/);
  });

  it('prints requests that work: a day with rides, and a rider’s own nights', async () => {
    expect(curls(first)).toHaveLength(2);
    const [day, mine] = await Promise.all(curls(first).map(shell));
    expect([day!.status, mine!.status]).toEqual([200, 200]);
    expect(JSON.parse(day!.body).nights.length).toBeGreaterThan(0);
    expect(JSON.parse(mine!.body).nights.length).toBeGreaterThan(0);
  });

  it('takes the same sample again, and makes a fresh one once its dates are far away', async () => {
    const samples = async (): Promise<string[]> =>
      (await readdir(dataDir)).filter((name) => name.startsWith('sample-')).sort();
    const [sample] = await samples();
    const made = (await stat(join(dataDir, sample!))).ino;
    const dayCurl = async (env: Record<string, string>): Promise<string> => {
      const service = await processes.start('start', { DATA_DIR: dataDir, ...env });
      await service.printed('Ctrl-C stops it.');
      const [line = '', mine = ''] = curls(service);
      expect((await shell(line)).status).toBe(200);
      // The rider's token lives by the real clock, whatever NOW says: docs/rules.md#clock
      expect((await shell(mine)).status).toBe(200);
      expect(await service.stop()).toMatchObject({ code: 0, signal: null });
      return line;
    };
    const again = await dayCurl({});
    expect(await samples()).toEqual([sample]);
    expect((await stat(join(dataDir, sample!))).ino).toBe(made);
    expect(again.split('/days/')[1]).toBe(curls(first)[0]!.split('/days/')[1]);
    const later = await dayCurl({ NOW: '2031-03-01T12:00:00Z' });
    expect(later).toMatch(/\/days\/2031-0[23]-\d\d$/);
    expect(await samples()).toHaveLength(2);
  });

  it('ends on Ctrl-C at once, with exit code 0 and without a word', async () => {
    process.kill(first.pid, 'SIGINT');
    expect(await first.ended).toMatchObject({ code: 0, signal: null });
    expect(first.err()).not.toMatch(/error|warn/i);
  });
});
