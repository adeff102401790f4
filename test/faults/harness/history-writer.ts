import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { type EventOf, type HistoryEvent, historyLine } from '../history.ts';

type WithoutTime = HistoryEvent extends infer Each ? (Each extends unknown ? Omit<Each, 'at'> : never) : never;

/** Appends events to a history's file, each with the time at which it is known. */
export class HistoryWriter {
  readonly path: string;
  readonly #file: WriteStream;
  #lines = 0;

  /** Writes the first line. */
  constructor(path: string, begin: Omit<EventOf<'begin'>, 'type' | 'at'>) {
    this.path = path;
    this.#file = createWriteStream(path);
    this.add({ type: 'begin', ...begin });
  }

  add(event: WithoutTime): void {
    this.#lines++;
    this.#file.write(historyLine({ ...event, at: nowMs() } as HistoryEvent));
  }

  /** Writes the last line, and resolves once all is in the file. */
  async end(): Promise<void> {
    this.add({ type: 'end', lines: this.#lines });
    this.#file.end();
    await finished(this.#file);
  }
}

/** The history's clock. */
export const nowMs = (): number => Math.round(performance.now() * 1_000) / 1_000;
