import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../infra/local/free-port.ts';

// What is published, or put in an image, is JavaScript: Node strips no types inside node_modules. So the package is
// made as `npm pack` makes it, unpacked into a node_modules of its own beside what it depends on, and run from there.

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);
let dir: string;
let installed: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-package-'));
  installed = join(dir, 'node_modules', 'ride-calendar');
  await mkdir(installed, { recursive: true });
  await run('npm', ['pack', '--pack-destination', dir], { cwd: root });
  const packed = (await readdir(dir)).find((name) => name.endsWith('.tgz'))!;
  await run('tar', ['-xzf', join(dir, packed), '-C', installed, '--strip-components=1']);
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  // Those alone: a package that needs a development dependency to run must fail here.
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(join(dir, 'node_modules', name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(dir, 'node_modules', name));
  }
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe('the package', () => {
  it('holds the launcher and what is built, no source and no test', async () => {
    const files = (await readdir(installed, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
    expect(files).toContain('services/ride-calendar.js');
    expect(files).toContain('dist/schemas/events/rides.avsc');
    expect(files.filter((file) => file.endsWith('.ts') || file.startsWith('test'))).toEqual([]);
    expect(files.filter((file) => file.startsWith('dist') && !/\.(js|map|json|css|avsc|md)$/.test(file))).toEqual([]);
  });

  it('starts, serves its sample, its docs and its OpenAPI document, and stops when told to', async () => {
    const [port] = await freePorts(1);
    const child = spawn(process.execPath, [join(installed, 'services', 'ride-calendar.js'), 'start'], {
      cwd: dir,
      env: { PATH: process.env.PATH, PORT: String(port) },
    });
    let out = '';
    const ended = once(child, 'close');
    try {
      await new Promise<void>((resolve, reject) => {
        const heard = (chunk: Buffer): void => {
          out += chunk;
          if (out.includes('Ctrl-C stops it')) resolve();
        };
        child.stdout.on('data', heard);
        child.stderr.on('data', heard);
        child.on('close', () => reject(new Error(`It ended by itself:\n${out}`)));
      });
      const key = /Developer key +(\S+)/.exec(out)![1]!;
      const [, day] = /curl -H 'X-Api-Key: \S+' (\S+)/.exec(out)!;
      const answer = await fetch(day!, { headers: { 'X-Api-Key': key } });
      expect(answer.status).toBe(200);
      expect(((await answer.json()) as { nights: object[] }).nights).not.toEqual([]);
      for (const path of ['/api/openapi.json', '/docs', '/healthz', '/readyz', '/metrics']) {
        expect(`${path} ${(await fetch(`http://127.0.0.1:${port}${path}`)).status}`).toBe(`${path} 200`);
      }
    } finally {
      child.kill('SIGTERM');
      const [code] = await ended;
      expect(code).toBe(0);
    }
  });
});
