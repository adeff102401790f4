import { topicNames } from '../schemas/events/records.ts';
import type { Clock } from './ports/clock.ts';
import type { Position } from './ports/event-log.ts';
import type { Log } from './ports/log.ts';

const everyMs = 10_000;

/** Logs every ten seconds how far the fold of the log is, so that a long start does not look like a hang. */
export class FoldProgress {
  readonly #from: Position;
  readonly #ends: Position;
  readonly #clock: Clock;
  readonly #log: Log;
  #saidMs: number;

  constructor(from: Position, ends: Position, { clock, log }: { clock: Clock; log: Log }) {
    this.#from = from;
    this.#ends = ends;
    this.#clock = clock;
    this.#log = log;
    this.#saidMs = clock.nowMs();
  }

  at(position: Position): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#saidMs < everyMs) return;
    this.#saidMs = nowMs;
    let [done, total] = [0, 0];
    for (const topic of topicNames) {
      for (const [partition, end] of this.#ends[topic].entries()) {
        const from = this.#from[topic][partition]!;
        total += end - from;
        // The log may have grown since its ends were sampled.
        done += Math.min(position[topic][partition]!, end) - from;
      }
    }
    this.#log.info(`Folding the log: ${Math.floor((done * 100) / total)} % of ${total} offsets`);
  }
}
