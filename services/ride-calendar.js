#!/usr/bin/env node
// The command `ride-calendar`, in plain JavaScript so that any Node gets far enough to say what is missing. It runs
// cli.ts from a checkout, or the built cli.js.
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
  keepCompiledCode();
  await import(pathToFileURL(program).href);
} else {
  fail(
    `Cannot start ride-calendar: this is Node ${process.versions.node}, want 22.18 or newer; ` +
      'in a checkout npm and npx bring Node 24: "npm ci && npx ride-calendar …"',
  );
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
