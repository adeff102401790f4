import { createWriteStream, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { type EventOf, type HistoryEvent, historyLine } from '../history.ts';

type WithoutTime = HistoryEvent extends infer Each ? (Each extends unknown ? Omit<Each, 'at'> : never) : never;

/** Appends events to a history's file, each with the time at which it is known. */
export class HistoryWriter {
  readonly path: string;
  readonly #file: WriteStream;
  /** What was known before the history begins. */
  #before: HistoryEvent[] | null = [];
  #lines = 0;

  constructor(path: string) {
    this.path = path;
    this.#file = createWriteStream(path);
  }

  add(event: WithoutTime): void {
    const timed = { ...event, at: nowMs() } as HistoryEvent;
    if (this.#before) this.#before.push(timed);
    else this.#write(timed);
  }

  /** Writes the first line, and then what was known before as of now. */
  begin(event: Omit<EventOf<'begin'>, 'type' | 'at'>): void {
    const at = nowMs();
    const before = this.#before!;
    this.#before = null;
    this.#write({ type: 'begin', at, ...event });
    for (const each of before) this.#write({ ...each, at, ...('sent' in each && { sent: at }) } as HistoryEvent);
  }

  /** Writes the last line, and resolves once all is in the file. */
  async end(): Promise<void> {
    this.add({ type: 'end', lines: this.#lines });
    this.#file.end();
    await finished(this.#file);
  }

  #write(event: HistoryEvent): void {
    this.#lines++;
    this.#file.write(historyLine(event));
  }
}

/** The history's clock. */
export const nowMs = (): number => Math.round(performance.now() * 1_000) / 1_000;
