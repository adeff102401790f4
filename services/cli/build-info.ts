import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const isBuilt = import.meta.url.endsWith('.js');

interface BuildInfo {
  version: string;
  /** The commit's hash, with `-dirty` if tracked files differ from it. `unknown` where neither git nor the build says it. */
  commit: string;
}

/** Which build runs. `npm run build` writes it to dist/version; a checkout asks git. */
export function buildInfo(): BuildInfo {
  if (isBuilt) {
    const [version, commit] = readFileSync(new URL('../../version', import.meta.url), 'utf8')
      .trim()
      .split(' ');
    return { version: version!, commit: commit! };
  }
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return { version, commit: process.env.COMMIT || commitOf(fileURLToPath(new URL('../..', import.meta.url))) };
}

function commitOf(checkout: string): string {
  // Without a .git of its own it may lie inside another repository.
  if (!existsSync(`${checkout}/.git`)) return 'unknown';
  const args = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
  try {
    return execFileSync('git', args, { cwd: checkout, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}
