import type { EventLog, LogBounds, Position, Reject } from '../../../projector/ports/event-log.ts';
import { positionOf } from '../../../projector/position.ts';
import { followToEnds } from './follow-to-ends.ts';

const keyOf = ({ topic, partition }: Pick<Reject, 'topic' | 'partition'>, key: Buffer | null): string =>
  `${topic}/${partition} ${key === null ? '-' : key.toString('base64')}`;

/** Which keys of bad records have records behind them, bad ones too. */
export class LaterRecords {
  readonly #log: EventLog;
  readonly #bounds: LogBounds;
  /** Of each key asked for, the offsets of its records, ascending. */
  readonly #offsets = new Map<string, number[]>();

  constructor(log: EventLog, bounds: LogBounds) {
    this.#log = log;
    this.#bounds = bounds;
  }

  /** Reads the partitions of bad records from the first of them on to the log's ends. */
  async readBehind(rejects: readonly Reject[], signal: AbortSignal): Promise<void> {
    const from = positionOf(this.#bounds, 'end');
    for (const { topic, partition, offset } of rejects) {
      const bounds = this.#bounds[topic]?.[partition];
      if (bounds) from[topic][partition] = Math.min(from[topic][partition]!, Math.max(bounds.low, offset + 1));
    }
    await this.readFrom(rejects, from, signal);
  }

  /** Reads from a position on to the log's ends, and notes records of the keys of bad records. */
  async readFrom(rejects: readonly Reject[], from: Position, signal: AbortSignal): Promise<void> {
    for (const reject of rejects) this.#offsets.set(keyOf(reject, reject.raw.key), []);
    await followToEnds(this.#log, from, this.#bounds, signal, ({ topic, partition, records }) => {
      const { end } = this.#bounds[topic][partition]!;
      for (const record of records) {
        if (record.offset >= end) break;
        this.#offsets.get(keyOf({ topic, partition }, record.keyBytes))?.push(record.offset);
      }
    });
  }

  /** Whether the bad record's key has one behind it. */
  has(reject: Reject): boolean {
    return (this.#offsets.get(keyOf(reject, reject.raw.key)) ?? []).some((offset) => offset > reject.offset);
  }

  /** The first record of the key before an offset; null where there is none. */
  firstBefore(reject: Reject, offset: number): number | null {
    return (this.#offsets.get(keyOf(reject, reject.raw.key)) ?? []).find((one) => one < offset) ?? null;
  }

  note(reject: Reject, offset: number): void {
    this.#offsets.get(keyOf(reject, reject.raw.key))?.push(offset);
  }
}
