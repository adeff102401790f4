import type { EncodedRecord } from '../ports/event-log.ts';
import type { RetryDeps } from '../running/waiting.ts';

const everyMs = 1_000;

/** Logs where bad records are and why they are bad: a line a second at most, which says how many it leaves out. */
export class ToldRejects {
  readonly #deps: RetryDeps;
  #isQuiet = false;
  /** The last one that no line names, and how many others there are. */
  #untold: { words: string; others: number } | null = null;

  constructor(deps: RetryDeps) {
    this.#deps = deps;
  }

  tell({ topic, partition, offset }: EncodedRecord, reason: string): void {
    const words = `Bad record at ${topic}/${partition}@${offset}: ${reason}`;
    if (this.#isQuiet) this.#untold = { words, others: this.#untold ? this.#untold.others + 1 : 0 };
    else this.#say(words);
  }

  #say(line: string): void {
    const { clock, log, signal } = this.#deps;
    log.warn(line);
    this.#isQuiet = true;
    void clock.sleep(everyMs, signal).then(() => {
      const untold = this.#untold;
      this.#isQuiet = false;
      this.#untold = null;
      if (untold)
        this.#say(untold.others > 0 ? `${untold.words} (and ${untold.others} more since the last line)` : untold.words);
    });
  }
}
