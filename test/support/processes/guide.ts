import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './process.ts';

/** The pages of docs/ as they are pasted: their blocks, and a folder to run them in. */

export class Guide {
  readonly text: string;
  readonly #unrun: Set<string>;

  constructor(page: string) {
    this.text = readFileSync(join(root, 'docs', page), 'utf8');
    this.#unrun = new Set(this.blocks('sh'));
  }

  blocks(language: string): string[] {
    const all = this.text.matchAll(/^```(\w+)\n(.*?)^```/gms);
    return [...all].filter(([, of]) => of === language).map(([, , text]) => text!);
  }

  /** The shell blocks with these words, for a test to run. */
  shell(words: string): string[] {
    const found = this.blocks('sh').filter((block) => block.includes(words));
    if (found.length === 0) throw new Error(`No shell block has ${words}`);
    for (const block of found) this.#unrun.delete(block);
    return found;
  }

  /** First lines of the shell blocks that no test has asked for: a page's last test names those, with the reason. */
  unrun = (): string[] => [...this.#unrun].map((block) => block.split('\n')[0]!);
}

/** A folder that looks to the commands of a page as a checkout does. Nothing of it is left once it is disposed of. */
export class Checkout implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'ride-calendar-checkout-'));
  readonly #ends: (() => void)[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv = {}) {
    const bin = join(this.dir, 'bin');
    mkdirSync(bin);
    const run = `exec "${process.execPath}" "${root}services/ride-calendar.js" "$@"\n`;
    writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\n${run}`, { mode: 0o755 });
    writeFileSync(join(bin, 'npm'), `#!/bin/sh\n${run}`, { mode: 0o755 });
    this.#env = { PATH: `${bin}:${process.env.PATH}`, LOG_LEVEL: 'silent', ...env };
  }

  async bash(script: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = { cwd: this.dir, env: { ...this.#env, ...more }, maxBuffer: 64 << 20, timeout: 180_000 };
    return (await promisify(execFile)('bash', ['-euc', script], options)).stdout;
  }

  /** Runs a command that serves until it has printed something, and goes on running it until then. What it printed. */
  async serve(script: string, until: RegExp, more: NodeJS.ProcessEnv = {}): Promise<string> {
    const options = { cwd: this.dir, env: { ...this.#env, ...more }, detached: true };
    const child = spawn('bash', ['-euc', script], options);
    this.#ends.push(() => child.exitCode ?? process.kill(-child.pid!, 'SIGKILL'));
    let [out, err] = ['', ''];
    child.stderr.on('data', (chunk) => (err += chunk));
    // It is heard on: what prints into a closed pipe ends.
    child.stdout.on('data', (chunk) => (out += chunk));
    const ended = once(child, 'close');
    while (!until.test(out) && child.exitCode === null) await Promise.race([once(child.stdout, 'data'), ended]);
    if (!until.test(out)) throw new Error(`${script} ended, and never printed ${until}:\n${out}\n${err}`);
    return out;
  }

  [Symbol.dispose](): void {
    for (const end of this.#ends) end();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
