import type { EventLog, LogBounds, Position, Reject } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { followToEnds } from '../backends/follow-to-ends.ts';
import { rejectPlace } from './rejected-log.ts';

interface RecordPlace {
  partition: number;
  offset: number;
}

/** Why a bad record that is good by now is left out all the same: no fault. */
export const superseded = 'its key has had a later record';

/** What the log holds of the keys of bad records, and at their places (docs/rules.md#resubmitted-records). */
export class RecordsOfRejects {
  /** By key. */
  readonly #records = new Map<string, RecordPlace[]>();
  /** By place: key and timestamp of what is there. */
  readonly #atPlace = new Map<string, string>();
  readonly #rejects: readonly Reject[];
  readonly #ends: Position;

  private constructor(rejects: readonly Reject[], ends: Position) {
    this.#rejects = rejects;
    this.#ends = ends;
    for (const { topic, raw } of rejects) this.#records.set(keyText(topic, raw.key), []);
  }

  /** Reads the log from a position on to its bounds. */
  static async read(
    rejects: readonly Reject[],
    log: EventLog,
    from: Position,
    bounds: LogBounds,
    signal: AbortSignal,
  ): Promise<RecordsOfRejects> {
    const ends = positionOf(bounds, 'end');
    const found = new RecordsOfRejects(rejects, ends);
    const places = new Set(rejects.map(rejectPlace));
    await followToEnds(log, from, bounds, signal, ({ topic, partition, records }) => {
      for (const { offset, keyBytes, timestampMs } of records) {
        if (offset >= ends[topic][partition]!) continue;
        found.add(topic, keyBytes, { partition, offset });
        const place = rejectPlace({ topic, partition, offset });
        if (places.has(place)) found.#atPlace.set(place, `${keyText(topic, keyBytes)} ${timestampMs}`);
      }
    });
    return found;
  }

  add(topic: TopicName, keyBytes: Buffer | null, place: RecordPlace): void {
    this.#records.get(keyText(topic, keyBytes))?.push(place);
  }

  /** Why a bad record must not be published again, even if it is good by now. Null: it may be. */
  hindrance({ topic, partition, offset, timestampMs, raw }: Reject): string | null {
    const key = keyText(topic, raw.key);
    const there = this.#atPlace.get(rejectPlace({ topic, partition, offset }));
    const isFollowed = (places: readonly RecordPlace[]): boolean =>
      places.some((place) => place.partition === partition && place.offset > offset);
    if (there === `${key} ${timestampMs}`) return isFollowed(this.#records.get(key)!) ? superseded : null;
    // No record has been at an offset behind the end.
    if (there !== undefined || offset >= (this.#ends[topic]?.[partition] ?? 0))
      return 'it is of another log: have its producer send it again';
    // It was compacted away, and all of its key with it unless there is a later one.
    const others = this.#rejects.filter((other) => keyText(other.topic, other.raw.key) === key);
    return this.#records.get(key)!.length > 0 || isFollowed(others) ? superseded : null;
  }
}

const keyText = (topic: string, key: Buffer | null): string =>
  `${topic} ${key === null ? '-' : key.toString('base64')}`;
