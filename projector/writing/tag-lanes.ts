import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { CommitResult, ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import { retry } from '../ports/waiting.ts';

// A batch, counted in keys and fields. It is one script call, and blocks the store for about a millisecond
// (docs/rules.md#batch).
const batchViewsMax = 200;
const batchBytesMax = 512 * 1024;
const limits = { minMs: 50, maxMs: 2_000 };

interface Batch {
  writes: ViewWrite[];
  /** Keys and fields. */
  views: number;
  bytes: number;
}

/** A newer leader has raised the fences. This projector must not write again. */
export class FencedError extends Error {
  override name = 'FencedError';
  /** Retrying is pointless. */
  readonly retry = false;
}

/**
 * One lane per tag. Batches of one tag are written one after another, different tags in parallel. Waits for a store
 * that is away. A tag that is found lost is reported and its batch dropped, because the repair that follows compares
 * every view.
 */
export class TagLanes {
  readonly #writer: ViewWriter;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #lanes = new Map<number, Promise<void>>();
  readonly #buffers = new Map<number, Batch>();
  readonly #lastCommitMs = new Map<number, number>();
  readonly #onLost: (tag: number) => void;
  readonly #onWritten: (views: number, bytes: number) => void;
  #inFlight = 0;
  #away = false;

  constructor(deps: {
    writer: ViewWriter;
    clock: Clock;
    log: Log;
    signal: AbortSignal;
    onLost: (tag: number) => void;
    onWritten: (views: number, bytes: number) => void;
  }) {
    this.#writer = deps.writer;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#signal = deps.signal;
    this.#onLost = deps.onLost;
    this.#onWritten = deps.onWritten;
  }

  /** Adds a write to its tag's batch. Waits while many batches are in flight, so that memory stays bounded. */
  async add(tag: number, write: ViewWrite): Promise<void> {
    if (write.kind !== 'reader' || write.fields.length <= batchViewsMax) return this.#add(tag, write);
    const { fields, replaces, ...named } = write;
    for (let i = 0; i < fields.length; i += batchViewsMax) {
      const first = i === 0 && replaces ? { replaces } : {};
      await this.#add(tag, { ...named, ...first, fields: fields.slice(i, i + batchViewsMax) });
    }
  }

  async #add(tag: number, write: ViewWrite): Promise<void> {
    let buffer = this.#buffers.get(tag);
    if (!buffer) {
      buffer = { writes: [], views: 0, bytes: 0 };
      this.#buffers.set(tag, buffer);
    }
    buffer.writes.push(write);
    buffer.views += write.kind === 'reader' ? write.fields.length : 1;
    buffer.bytes += bytesOf(write);
    if (buffer.views < batchViewsMax && buffer.bytes < batchBytesMax) return;
    this.#flush(tag);
    if (this.#inFlight >= 32) await this.#lanes.get(tag);
  }

  /** Sends what is buffered. */
  flush(): void {
    for (const tag of [...this.#buffers.keys()]) this.#flush(tag);
  }

  /** Sends what is buffered, and resolves once everything is written. Throws FencedError. */
  async drain(): Promise<void> {
    this.flush();
    await Promise.all(this.#lanes.values());
  }

  /**
   * Checks and moves the fence of every tag that had no batch lately. A fence that is not as this projector left it
   * means that the store lost or changed something.
   */
  async beat(tags: readonly number[], idleMs: number): Promise<void> {
    const before = this.#clock.nowMs() - idleMs;
    for (const tag of tags)
      if ((this.#lastCommitMs.get(tag) ?? 0) < before) this.#enqueue(tag, { writes: [], views: 0, bytes: 0 });
    await Promise.all(this.#lanes.values());
  }

  #flush(tag: number): void {
    const buffer = this.#buffers.get(tag)!;
    this.#buffers.delete(tag);
    this.#enqueue(tag, buffer);
  }

  #enqueue(tag: number, batch: Batch): void {
    this.#queue(tag, () => this.#commit(tag, batch));
  }

  /** Runs the steps of a lane one after another: a fence has one batch in flight at a time. */
  #queue(tag: number, step: () => Promise<void>): Promise<void> {
    this.#inFlight += 1;
    const lane = (this.#lanes.get(tag) ?? Promise.resolve()).then(step).finally(() => {
      this.#inFlight -= 1;
      if (this.#lanes.get(tag) === lane) this.#lanes.delete(tag);
    });
    // `drain` reports the fault. A lane that nobody awaits must not end the process.
    lane.catch(() => {});
    this.#lanes.set(tag, lane);
    return lane;
  }

  async #commit(tag: number, { writes, views, bytes }: Batch): Promise<void> {
    const result = await this.#untilAnswered(() => this.#writer.commit(tag, writes));
    if (result === null) return;
    if (!result.committed) {
      if (result.reason === 'fenced') throw new FencedError(fencedMessage);
      this.#onLost(tag);
      return;
    }
    this.#lastCommitMs.set(tag, this.#clock.nowMs());
    this.#onWritten(views, bytes);
  }

  /** Puts our fence back on a tag that was lost. */
  refence(tag: number): Promise<void> {
    return this.#queue(tag, async () => {
      const result = await this.#untilAnswered(() => this.#writer.refence(tag));
      if (result && !result.committed) throw new FencedError(fencedMessage);
    });
  }

  /** Attempts until the store answers. Null if told to stop. */
  #untilAnswered(attempt: () => Promise<CommitResult>): Promise<CommitResult | null> {
    return retry(
      async () => {
        const result = await attempt();
        this.#setAway(null);
        return result;
      },
      { limits, clock: this.#clock, signal: this.#signal, onFailure: (cause) => this.#setAway(cause as Error) },
    );
  }

  /** Logs the first fault of all lanes, and the first success after it. */
  #setAway(fault: Error | null): void {
    const away = fault !== null;
    if (away === this.#away) return;
    this.#away = away;
    if (away) this.#log.warn(`Cannot write views, trying again: ${fault.message}`);
    else this.#log.info('The view store answers again');
  }
}

const fencedMessage =
  'Cannot write views: another projector has taken over. Run one projector per store, or divide the tags with SHARD';

/** The approximate bytes of a write's names and values: texts are ASCII. */
function bytesOf(write: ViewWrite): number {
  if (write.kind !== 'reader') return write.id.length + (write.value?.length ?? 0);
  let bytes = write.id.length;
  for (const { field, value } of write.fields) bytes += field.length + (value?.length ?? 0);
  return bytes;
}
