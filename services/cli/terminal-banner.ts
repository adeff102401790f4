import { clearScreenDown, moveCursor } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';

/** A terminal, as Node's tty.WriteStream is one. */
export interface Terminal extends NodeJS.WritableStream {
  columns: number;
  rows: number;
}

/**
 * A text that stays last on a terminal: what is written above it scrolls, and it is drawn again below. Its lines are left to
 * the terminal to wrap, so that a command in it can be copied whole; libraries for this break them. One that does not fit on
 * the screen is printed once, and scrolls with the rest.
 */
export class TerminalBanner {
  readonly #terminal: Terminal;
  readonly #signal: AbortSignal;
  #text = '';

  /** @param signal once it aborts, the text stays where it is, and what follows is written below */
  constructor(terminal: Terminal, signal: AbortSignal) {
    this.#terminal = terminal;
    this.#signal = signal;
  }

  show(text: string): void {
    this.#text = `${text}\n`;
    this.#terminal.write(this.#text);
  }

  /** Writes whole lines above the text. */
  write(lines: string): void {
    const rows = this.#rows();
    if (this.#signal.aborted || rows === 0 || rows >= this.#terminal.rows) {
      this.#terminal.write(lines);
      return;
    }
    moveCursor(this.#terminal, 0, -rows);
    clearScreenDown(this.#terminal);
    this.#terminal.write(lines + this.#text);
  }

  /** How many rows of the screen the text takes, at its present width. */
  #rows(): number {
    const lines = stripVTControlCharacters(this.#text).split('\n').slice(0, -1);
    return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil([...line].length / this.#terminal.columns)), 0);
  }
}
