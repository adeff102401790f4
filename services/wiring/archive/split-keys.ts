import { LargeMap } from '../../../projector/facts/large-map.ts';
import type { TopicName } from '../../../schemas/events/records.ts';

/** Keys that are in several partitions of an archive. The order of their records is known only by time. */
export interface SplitKeys {
  topic: TopicName;
  count: number;
  /** The first few. */
  keys: string[];
}

const namedMax = 20;
const split = -1;

/** Finds a topic's split keys while its records pass. */
export class SplitKeyFinder {
  readonly #found: SplitKeys;
  readonly #partitions = new LargeMap<string, number>();

  constructor(topic: TopicName) {
    this.#found = { topic, count: 0, keys: [] };
  }

  note(key: Buffer, partition: number): void {
    const text = String(key);
    const before = this.#partitions.get(text);
    if (before === partition || before === split) return;
    this.#partitions.set(text, before === undefined ? partition : split);
    if (before === undefined) return;
    this.#found.count++;
    if (this.#found.keys.length < namedMax) this.#found.keys.push(text);
  }

  /** Null if there are none. */
  get found(): SplitKeys | null {
    return this.#found.count === 0 ? null : this.#found;
  }
}

/** One line to print. */
export function splitKeysText({ topic, count, keys }: SplitKeys, keepPartitions: boolean): string {
  const named = keys.join(', ') + (count > keys.length ? ` and ${count - keys.length} more` : '');
  const what = count === 1 ? '1 key stands' : `${count} keys stand`;
  const then = keepPartitions
    ? 'they do so in the log now, and whose record is the last is left to chance'
    : 'their records are in one partition now, in the order of their timestamps';
  return `In several partitions of the archive's ${topic}, ${what}: ${named}; ${then}`;
}
