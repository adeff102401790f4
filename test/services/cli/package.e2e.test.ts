import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { freePorts } from '../../../infra/local/free-port.ts';
import { testFolder } from '../../support/processes/test-folder.ts';

// The package is made as `npm pack` makes it, unpacked into a folder with nothing beside it, and run from there. It has
// JavaScript, because Node strips no types inside node_modules, and all that it depends on: a machine needs no registry.

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);
const json = async (file: string) => JSON.parse(await readFile(file, 'utf8'));
const dir = testFolder();
const installed = join(dir, 'ride-calendar');

// The commit is written while the package is made: where it is installed, there is no .git to ask.
const commit = (await run('git', ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'], { cwd: root }))
  .stdout;
await run('npm', ['pack', '--pack-destination', dir], { cwd: root });
const packed = (await readdir(dir)).find((name) => name.endsWith('.tgz'))!;
await run('tar', ['-xzf', join(dir, packed), `--one-top-level=${installed}`, '--strip-components=1']);

it('holds the launcher, what is built and what it depends on in the versions that are locked, no source, test or development package', async () => {
  const files = (await readdir(installed, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
    .filter((file) => !file.startsWith('node_modules'));
  const documents = ['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md'];
  expect(files).toEqual(expect.arrayContaining([...documents, 'infra/deploy/systemd/ride-calendar-api@.service']));
  expect(files.filter((file) => file.endsWith('.ts') || file.startsWith('test'))).toEqual([]);
  const isBuilt = (file: string) => /^dist\/(version|.*\.(js|map|json|css|html|svg|avsc|sql|md|yaml))$/.test(file);
  expect(files.filter((file) => file.startsWith('dist') && !isBuilt(file))).toEqual([]);
  const { packages } = await json(join(root, 'package-lock.json'));
  const { dependencies } = await json(join(root, 'package.json'));
  for (const name of Object.keys(dependencies)) {
    const { version } = await json(join(installed, 'node_modules', name, 'package.json'));
    expect(`${name} ${version}`).toBe(`${name} ${packages[`node_modules/${name}`].version}`);
  }
  const held = await readdir(join(installed, 'node_modules'));
  expect(held.filter((name) => packages[`node_modules/${name}`]?.dev)).toEqual([]);
});

it('wants the Node that it can run on', async () => {
  const { engines } = await json(join(installed, 'package.json'));
  const launcher = await readFile(join(installed, 'services', 'ride-calendar.js'), 'utf8');
  const [, wanted] = /want (\S+) or newer/.exec(launcher)!;
  // It runs from there on; with time zone data of its own day, from engines on (docs/first-production-day.md).
  expect(wanted).toBe('22.18');
  expect(engines).toEqual({ node: expect.stringMatching(/^\^22\.\d+\.\d+ \|\| >=24\.\d+$/) });
});

it('has all that its modules import', async () => {
  const files = await readdir(join(installed, 'dist'), { recursive: true });
  // The program, and what runs in a browser.
  const isModule = (file: string) =>
    /(?<!services\/cli|docs\/(?:reference|[\w-]+-example)|services\/calendar-page\/(?!register)[\w-]+)\.js$/.test(file);
  const modules = files.filter(isModule).map((file) => join(installed, 'dist', file));
  expect(modules.length).toBeGreaterThan(200);
  const script = 'await Promise.all(process.argv.slice(1).map((file) => import(file))); process.exit()';
  await run(process.execPath, ['--input-type=module', '-e', script, ...modules], { cwd: dir });
});

it('starts, says which version and commit it is, serves its sample, its docs, its page and its OpenAPI document, and stops when told to', async () => {
  const [port] = await freePorts(1);
  const child = spawn(process.execPath, [join(installed, 'services', 'ride-calendar.js'), 'start'], {
    cwd: dir,
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  try {
    let out = '';
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      out += chunk;
      if (out.includes('Ctrl-C stops it')) break;
    }
    const [, key, day] = /curl -H 'X-Api-Key: (\S+)' (\S+)/.exec(out)!;
    const answer = await fetch(day!, { headers: { 'X-Api-Key': key! } });
    expect(await answer.json()).toMatchObject({ nights: expect.arrayContaining([expect.anything()]) });
    for (const path of ['/api/openapi.json', '/docs', '/docs/oauth.md', '/calendar', '/calendar/calendar.js'])
      expect(`${path} ${(await fetch(`http://127.0.0.1:${port}${path}`)).status}`).toBe(`${path} 200`);
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const { version } = await json(join(installed, 'package.json'));
    for (const label of [`version="${version}"`, `commit="${commit.trim()}"`]) expect(metrics).toContain(label);
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toEqual([0, null]);
});
