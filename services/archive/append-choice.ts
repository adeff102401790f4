import { hash } from 'node:crypto';
import { LargeMap } from '../../projector/facts/large-map.ts';
import type { EncodedRecord } from '../../projector/ports/event-log.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { clampedMs } from '../../schemas/events/instants.ts';

/** A key's last record in the topic, and the last place in the order of the load where the archive holds that very record. */
interface Held {
  partition: number;
  timeMs: number;
  digest: string;
  inArchive: number | null;
}

/**
 * Which of an archive's records a topic that holds records needs (docs/rules.md#archive-load): of each key the last, unless
 * the topic's last record of that key is newer or as old. If the archive holds the topic's very record before its own last
 * one, a load was stopped between them: then the last one is needed whatever its time.
 *
 * First give it what the topic holds, then what the archive holds, and then ask about each record of the archive.
 */
export class AppendChoice {
  /** Keys whose last record in the topic is newer, as `topic/key`. */
  readonly newer: string[] = [];
  same = 0;
  readonly #held = new LargeMap<string, Held>();
  readonly #last = new LargeMap<string, number>();
  readonly #keepsPartitions: boolean;
  readonly #nowMs: number;
  #count = 0;
  #at = 0;

  /** `keepsPartitions`: then each partition is brought to the archive's facts by itself. */
  constructor(keepsPartitions: boolean, nowMs: number) {
    this.#keepsPartitions = keepsPartitions;
    this.#nowMs = nowMs;
  }

  topicHolds(record: EncodedRecord): void {
    if (record.keyBytes === null) return;
    const [id, timeMs] = [this.#idOf(record), clampedMs(record.timestampMs)];
    const { partition, valueBytes } = record;
    const known = this.#held.get(id);
    // Partitions are read in any order.
    if (known && known.partition !== partition && known.timeMs > timeMs) return;
    this.#held.set(id, { partition, timeMs, digest: digestOf(valueBytes), inArchive: null });
  }

  /** Takes the archive's records, in the order of the load. `loaded` gives the value that a load publishes. */
  archiveHolds(record: EncodedRecord, loaded: (record: EncodedRecord) => Buffer | null): void {
    const id = this.#idOf(record);
    const held = this.#held.get(id);
    const isOfTime = (time: number): boolean => this.#isAhead(record) || clampedMs(record.timestampMs) === time;
    if (held && isOfTime(held.timeMs) && digestOf(loaded(record)) === held.digest) held.inArchive = this.#count;
    this.#last.set(id, this.#count++);
  }

  /** Whether the topic needs a record. Ask once for each, in the same order. */
  needs(record: EncodedRecord): boolean {
    const at = this.#at++;
    const id = this.#idOf(record);
    if (this.#last.get(id) !== at) return false;
    const held = this.#held.get(id);
    if (!held || (held.inArchive !== null && held.inArchive < at)) return true;
    // A time in the future says nothing.
    const timeMs = this.#isAhead(record) ? Number.NEGATIVE_INFINITY : clampedMs(record.timestampMs);
    if (held.inArchive === at || held.timeMs === timeMs) this.same++;
    else if (held.timeMs > timeMs) this.newer.push(foreignText(`${record.topic}/${record.keyBytes}`));
    return held.inArchive === null && held.timeMs < timeMs;
  }

  /** A load gives such a record the present time. */
  #isAhead({ timestampMs }: EncodedRecord): boolean {
    return timestampMs > this.#nowMs;
  }

  #idOf({ partition, keyBytes }: EncodedRecord): string {
    const key = keyBytes?.toString('latin1') ?? '';
    return this.#keepsPartitions ? `${partition} ${key}` : key;
  }
}

const digestOf = (value: Buffer | null): string =>
  value === null ? '' : hash('sha256', value, 'base64url').slice(0, 22);
