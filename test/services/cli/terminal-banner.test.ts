import { PassThrough } from 'node:stream';
import xterm from '@xterm/headless';
import { describe, expect, it } from 'vitest';
import { type Terminal, TerminalBanner } from '../../../services/cli/terminal-banner.ts';

const banner = ['Ride Calendar serves this:', '', `  curl ${'x'.repeat(70)}`, '', 'Ctrl-C stops it.'];

/** What a person sees on a terminal of that size. */
function screenOf(columns: number, rows: number) {
  const terminal = new xterm.Terminal({ cols: columns, rows, convertEol: true, allowProposedApi: true });
  const stream = Object.assign(new PassThrough(), { columns, rows }) satisfies Terminal;
  const stop = new AbortController();
  const shown = new TerminalBanner(stream, stop.signal);
  const lines = async (): Promise<string[]> => {
    await new Promise<void>((resolve) => terminal.write(stream.read() ?? '', resolve));
    const { active } = terminal.buffer;
    const all = Array.from({ length: active.length }, (_, i) => active.getLine(i)!);
    const whole: string[] = [];
    // A line that the terminal wrapped is one line to whoever copies it.
    for (const line of all) {
      const text = line.translateToString(true);
      if (line.isWrapped) whole[whole.length - 1] += text;
      else whole.push(text);
    }
    return whole.slice(0, whole.findLastIndex((line) => line !== '') + 1);
  };
  const resize = (width: number): void => {
    terminal.resize(width, rows);
    Object.assign(stream, { columns: width });
  };
  return { shown, lines, resize, stop };
}

describe('the banner on a terminal', () => {
  it.each([80, 72, 40, 17])(
    'stays last, whole and once, below the lines of the log, %i columns wide',
    async (columns) => {
      const { shown, lines } = screenOf(columns, 24);
      shown.write('first\n');
      shown.show(banner.join('\n'));
      const log = Array.from({ length: 30 }, (_, i) => `${i} ${'word '.repeat(i)}`.trimEnd());
      for (const line of log) shown.write(`${line}\n`);
      expect(await lines()).toEqual(['first', ...log, ...banner]);
    },
  );

  it('follows the terminal to another width', async () => {
    const { shown, lines, resize } = screenOf(100, 24);
    shown.show(banner.join('\n'));
    shown.write('one\n');
    await lines();
    resize(30);
    shown.write('two\n');
    expect(await lines()).toEqual(['one', 'two', ...banner]);
  });

  it('stays where it is once the process is told to stop', async () => {
    const { shown, lines, stop } = screenOf(80, 24);
    shown.show(banner.join('\n'));
    stop.abort();
    shown.write('stopping\n');
    expect(await lines()).toEqual([...banner, 'stopping']);
  });

  it('scrolls with the rest where it does not fit', async () => {
    const { shown, lines } = screenOf(80, 5);
    shown.show(banner.join('\n'));
    shown.write('one\n');
    expect(await lines()).toEqual([...banner, 'one']);
  });
});
