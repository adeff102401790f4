import { parseKey, type ViewWrite } from '../../schemas/views/view-keys.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { CommitResult, ViewWriter } from '../ports/view-writer.ts';

// A batch is one script call, and blocks the store for a millisecond or so (docs/rules.md#batch).
const batchWritesMax = 200;
const batchBytesMax = 512 * 1024;
const retryDelayMaxMs = 2_000;

/** A newer leader has raised the fences: this projector must not write again. */
export class FencedError extends Error {
  override name = 'FencedError';
}

/**
 * One lane a tag: batches of a tag are written one after another, tags side by side. A store that is away is waited
 * for; a tag found lost is reported, and its batch dropped, since the repair that follows compares every view.
 */
export class TagLanes {
  readonly #writer: ViewWriter;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #lanes = new Map<number, Promise<void>>();
  readonly #buffers = new Map<number, { writes: ViewWrite[]; bytes: number }>();
  readonly #lastCommitMs = new Map<number, number>();
  readonly #onLost: (tag: number) => void;
  readonly #onWritten: (writes: number, bytes: number) => void;
  #inFlight = 0;
  #away = false;

  constructor(deps: {
    writer: ViewWriter;
    clock: Clock;
    log: Log;
    signal: AbortSignal;
    onLost: (tag: number) => void;
    onWritten: (writes: number, bytes: number) => void;
  }) {
    this.#writer = deps.writer;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#signal = deps.signal;
    this.#onLost = deps.onLost;
    this.#onWritten = deps.onWritten;
  }

  /** Adds a write to its tag's batch. Waits while many batches are under way, so that memory stays bounded. */
  async add(write: ViewWrite): Promise<void> {
    const { tag } = parseKey(write.key);
    let buffer = this.#buffers.get(tag);
    if (!buffer) {
      buffer = { writes: [], bytes: 0 };
      this.#buffers.set(tag, buffer);
    }
    buffer.writes.push(write);
    buffer.bytes += write.key.length + (write.value?.length ?? 0);
    if (buffer.writes.length < batchWritesMax && buffer.bytes < batchBytesMax) return;
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

  /** Checks and moves the fence of every tag that had no batch lately: a fence not as left means that the store lost or changed something. */
  async beat(tags: readonly number[], idleMs: number): Promise<void> {
    const before = this.#clock.nowMs() - idleMs;
    for (const tag of tags) if ((this.#lastCommitMs.get(tag) ?? 0) < before) this.#enqueue(tag, [], 0);
    await Promise.all(this.#lanes.values());
  }

  #flush(tag: number): void {
    const buffer = this.#buffers.get(tag)!;
    this.#buffers.delete(tag);
    this.#enqueue(tag, buffer.writes, buffer.bytes);
  }

  #enqueue(tag: number, writes: ViewWrite[], bytes: number): void {
    this.#queue(tag, () => this.#commit(tag, writes, bytes));
  }

  /** One step after another in a lane: a fence has one batch in flight at a time. */
  #queue(tag: number, step: () => Promise<void>): Promise<void> {
    this.#inFlight += 1;
    const lane = (this.#lanes.get(tag) ?? Promise.resolve()).then(step).finally(() => {
      this.#inFlight -= 1;
      if (this.#lanes.get(tag) === lane) this.#lanes.delete(tag);
    });
    // Whoever drains hears of the fault; a lane nobody awaits must not end the process.
    lane.catch(() => {});
    this.#lanes.set(tag, lane);
    return lane;
  }

  async #commit(tag: number, writes: ViewWrite[], bytes: number): Promise<void> {
    const result = await this.#insist(() => this.#writer.commit(tag, writes));
    if (result === null) return;
    if (!result.committed) {
      if (result.reason === 'fenced') throw new FencedError(fencedMessage);
      this.#onLost(tag);
      return;
    }
    this.#lastCommitMs.set(tag, this.#clock.nowMs());
    this.#onWritten(writes.length, bytes);
  }

  /** Puts our fence back on a tag that was lost. */
  refence(tag: number): Promise<void> {
    return this.#queue(tag, async () => {
      const result = await this.#insist(() => this.#writer.refence(tag));
      if (result && !result.committed) throw new FencedError(fencedMessage);
    });
  }

  /** Tries until the store answers; null when told to stop. */
  async #insist(attempt: () => Promise<CommitResult>): Promise<CommitResult | null> {
    for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, retryDelayMaxMs)) {
      try {
        const result = await attempt();
        if (this.#away) {
          this.#away = false;
          this.#log.info('The view store answers again');
        }
        return result;
      } catch (cause) {
        if (this.#signal.aborted) return null;
        if (!this.#away) {
          this.#away = true;
          this.#log.warn(`Cannot write views, trying again: ${(cause as Error).message}`);
        }
        await this.#clock.sleep(delayMs, this.#signal);
        if (this.#signal.aborted) return null;
      }
    }
  }
}

const fencedMessage =
  'Cannot write views: another projector has taken over. Run one projector per store, or divide the tags with SHARD';
