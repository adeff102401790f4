import { decoded, type LogRecord, type UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import type { EventLog, LogBatch, Position } from '../../../projector/ports/event-log.ts';
import type { TopicName } from '../../../schemas/events/records.ts';

/** A follower that keeps what it is given. */
export class Following {
  readonly records: (LogRecord | UndecodableRecord)[] = [];
  readonly waits: [partition: string, waiting: boolean][] = [];
  readonly position: Position;
  readonly done: Promise<void>;
  readonly #abort = new AbortController();

  constructor(log: EventLog, from: Position, onBatch?: (batch: LogBatch) => Promise<void>) {
    this.position = structuredClone(from);
    const follower = {
      onBatch: async (batch: LogBatch) => {
        await onBatch?.(batch);
        this.records.push(...batch.records.map(decoded));
        this.position[batch.topic][batch.partition] = batch.nextOffset;
      },
      onWaiting: (topic: TopicName, partition: number, waiting: boolean) => {
        this.waits.push([`${topic}/${partition}`, waiting]);
      },
    };
    this.done = log.follow(from, follower, this.#abort.signal);
    // Looked at by stop, or by the test.
    this.done.catch(() => undefined);
  }

  /** `key@offset`, or `!@offset` for one that could not be decoded. */
  get texts(): string[] {
    return this.records.map((record) => `${'key' in record ? record.key : '!'}@${record.offset}`);
  }

  /** Keys of the decodable records, or what is wrong with the others. */
  get keys(): string[] {
    return this.records.map((record) => ('key' in record ? record.key : record.undecodable));
  }

  abort(): void {
    this.#abort.abort();
  }

  async stop(): Promise<void> {
    this.abort();
    await this.done;
  }
}
