import { execFile } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { showProgress } from '../../../services/cli/progress.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const clearedLine = '\u001b[2K';

/** What a terminal is sent. */
function terminal() {
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  return { stream, text: () => String(stream.read() ?? '') };
}

it('is gone once it is stopped, whatever is counted after', async () => {
  const { stream, text } = terminal();
  const progress = await showProgress({ errIsTerminal: true }, 'Records', null, stream);
  expect(text()).toContain('Records 0');
  progress.close();
  expect(text().endsWith(clearedLine)).toBe(true);
  progress.update(7);
  expect(text()).toBe('');
});

it('--json draws no progress, also on a terminal', async () => {
  const program = fileURLToPath(new URL('../../../services/ride-calendar.js', import.meta.url));
  const check = `test -t 2 && "${process.execPath}" "${program}" archive check "${portlandDirectory}" --json`;
  const env = { PATH: process.env.PATH, TERM: 'xterm' };
  const { stdout } = await promisify(execFile)('script', ['-qc', check, '/dev/null'], { env });
  expect(stdout).toMatch(/^\{.*\}\r\n$/);
});
