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

it('lines are printed above the progress, and it goes on below them', async () => {
  const { stream, text } = terminal();
  const progress = await showProgress({ errIsTerminal: true }, 'Records', null, stream);
  progress.update(7);
  progress.around(() => stream.write('a line\n'));
  const sent = text();
  progress.stop();
  const [before, after] = sent.split('a line\n');
  expect(before).toMatch(/Records 0[\s\S]*/);
  expect(before!.endsWith(clearedLine)).toBe(true);
  expect(after).toContain('Records 7');
});

it('lines are printed where nobody watches, too', async () => {
  const lines: string[] = [];
  const progress = await showProgress({ errIsTerminal: false }, 'Records', 100);
  progress.around(() => lines.push('a line'));
  expect(lines).toEqual(['a line']);
});

it('--json draws no progress, also on a terminal', async () => {
  const program = fileURLToPath(new URL('../../../services/ride-calendar.js', import.meta.url));
  const check = `"${process.execPath}" "${program}" archive check "${portlandDirectory}"`;
  const env = { PATH: process.env.PATH, TERM: 'xterm' };
  const onTerminal = (command: string) => promisify(execFile)('script', ['-qc', command, '/dev/null'], { env });
  expect((await onTerminal(check)).stdout).toContain(clearedLine);
  expect((await onTerminal(`${check} --json`)).stdout).toMatch(/^\{.*\}\r\n$/);
});
