import { execFile } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, expect, it } from 'vitest';
import { startRedisServer } from '../../../infra/local/redis-server.ts';
import { Processes } from '../../support/processes/process.ts';
import { testStack } from '../../support/processes/test-stack.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../infra/deploy/systemd/backup.sh', import.meta.url));
const processes = testStack().use(new Processes());

let folder: string;
beforeEach(async () => {
  folder = await processes.folder();
});
const backup = (what: string, env: Record<string, string>) =>
  run(script, [what, join(folder, what)], { env: { PATH: process.env.PATH, TEXTFILE_DIR: folder, ...env } });

it('a finished backup of sign-in’s Redis says when, to node_exporter', async () => {
  const sinceS = Math.floor(Date.now() / 1000);
  const users = '--user operator on >mine ~* &* +@all --user default off'.split(' ');
  const redis = await startRedisServer({ args: users });
  const env = { AUTH_REDIS_URL: redis.url, REDISCLI_AUTH: 'mine' };
  await backup('sign-in', { ...env, INSTALLATION: 'cluster="a",namespace="b"' }).finally(redis.stop);
  expect((await readFile(join(folder, 'sign-in'))).subarray(0, 5).toString()).toBe('REDIS');
  const said = join(folder, 'ride_calendar_sign-in.prom');
  const [, labels, at] = /^ride_calendar_backup_timestamp_seconds\{(.*)\} (\d+)$/m.exec(await readFile(said, 'utf8'))!;
  expect(labels).toBe('cluster="a",namespace="b",backup="sign-in"');
  expect(Number(at)).toBeGreaterThanOrEqual(sinceS);
  // Another user reads it, and nobody the sign-ins.
  expect(((await stat(said)).mode & 0o777).toString(8)).toBe('644');
  expect(((await stat(join(folder, 'sign-in'))).mode & 0o777).toString(8)).toBe('600');
});

it('a backup that failed says nothing, and leaves the one before as it was', async () => {
  await writeFile(join(folder, 'sign-in'), 'yesterday');
  await expect(backup('sign-in', { AUTH_REDIS_URL: 'redis://127.0.0.1:1' })).rejects.toMatchObject({ code: 1 });
  await expect(backup('archive', { RIDE_CALENDAR: 'false' })).rejects.toMatchObject({ code: 1 });
  await expect(backup('nothing', {})).rejects.toMatchObject({ code: 2 });
  expect(await readFile(join(folder, 'sign-in'), 'utf8')).toBe('yesterday');
  expect((await readdir(folder)).filter((name) => name.endsWith('.prom'))).toEqual([]);
  // It is saved by the command, as it is called here.
  await backup('archive', { RIDE_CALENDAR: 'echo ride-calendar' });
  const text = await readFile(join(folder, 'ride_calendar_archive.prom'), 'utf8');
  expect(text).toContain('{namespace="ride-calendar",backup="archive"} ');
});
