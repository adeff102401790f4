#!/usr/bin/env node
// The command `ride-calendar`, in plain JavaScript so that any Node gets far enough to say what is missing. It runs
// cli.ts where Node can (22.18 and newer), with the Node 24 of the package `node` where not, or the built cli.js.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import * as module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = import.meta.dirname ?? dirname(fileURLToPath(import.meta.url));
const [major, minor] = process.versions.node.split('.').map(Number);
const runsTypeScript = major > 22 || (major === 22 && minor >= 18);

// Node runs no TypeScript inside node_modules: an installed package brings JavaScript.
const source = join(here, 'cli.ts');
const built = [join(here, 'cli.js'), join(here, '..', 'dist', 'services', 'cli.js')].find((path) => existsSync(path));
const fromSource = existsSync(source) && !here.includes(`${join('/', 'node_modules', '/')}`);
const program = fromSource ? source : built;

if (program === undefined) {
  fail(`Cannot start ride-calendar: neither cli.ts nor a built cli.js lies beside ${here}; install it again`);
} else if (runsTypeScript) {
  endWithLauncher();
  keepCompiledCode();
  await import(pathToFileURL(program).href);
} else {
  const newer = packagedNode();
  if (newer) runWith(newer);
  else {
    fail(
      `Cannot start ride-calendar: this is Node ${process.versions.node}, want 22.18 or newer; ` +
        'run "npm ci", which brings Node 24, or install it',
    );
  }
}

function fail(message) {
  console.error(message);
  process.exitCode = 2;
}

/** Halves the time to start. The cache is in the checkout: into the shared /tmp, others could put code of theirs. */
function keepCompiledCode() {
  const packages = join(here, '..', 'node_modules');
  if (process.env.NODE_COMPILE_CACHE || !existsSync(packages)) return;
  module.enableCompileCache?.(join(packages, '.cache', 'ride-calendar'));
}

/** The `node` of the package of that name, in this folder's node_modules or one further up. */
function packagedNode() {
  for (let folder = here; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', 'node', 'bin', 'node');
    if (existsSync(path)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Runs this file again with another Node, and ends as it ends. */
function runWith(node) {
  const child = spawn(node, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    // The fourth is a channel. It closes however this process dies, and then the child ends too.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, RIDE_CALENDAR_LAUNCHED: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to both of us already; twice would mean "at once".
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('error', (error) => fail(`Cannot start ride-calendar with ${node}: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/** If another Node started this one, ends with it, even if that one gets SIGKILL, which it cannot pass on. */
function endWithLauncher() {
  if (!process.env.RIDE_CALENDAR_LAUNCHED || !process.channel) return;
  delete process.env.RIDE_CALENDAR_LAUNCHED;
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}
