import type { CommitResult, TagNotes, ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import type { SettledPosition } from '../position/settled-position.ts';
import type { Clock } from '../running/clock.ts';
import { retry, WakeUp } from '../running/waiting.ts';

// A batch is one script call, and blocks the store for about a millisecond (docs/rules.md#batch). A rider's fields are
// short, and many of them are one command.
const batchKeysMax = 200;
export const batchFieldsMax = 500;
const batchBytesMax = 512 * 1024;
// A batch that the store refused is sent again before a standby takes the fence for still.
const limits = { minMs: 50, maxMs: 1_000 };
const positionEveryMs = 250;

interface Batch {
  writes: ViewWrite[];
  /** Keys and fields: each is a view. */
  views: number;
  fields: number;
  bytes: number;
}

const emptyBatch = (): Batch => ({ writes: [], views: 0, fields: 0, bytes: 0 });

/**
 * Where the compare of a tag's views is, as its open list says: `begun` is not yet written there, `under way` is. After
 * `compared` it says so until a position from that round on is stored.
 */
type Comparing = { at: 'not' } | { at: 'begun' } | { at: 'under way' } | { at: 'compared'; round: number };

/** What a lane needs of all lanes together. */
export interface LaneOwner {
  readonly writer: ViewWriter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The round under way. */
  readonly round: number;
  /** The position to store; null before the first round is finished. */
  readonly settled: SettledPosition | null;
  /** The term ends: the last batches carry the position, even if one was stored just now. */
  readonly leaving: boolean;
  /** The process that a tag may be stamped for; empty where it may not. */
  stampOf(tag: number): string;
  /** A process of the store answered a beat: the tag was still this leader's when it was asked, at `askedMs`. */
  answered(tag: number, process: string, turn: number, askedMs: number): void;
  wrote(views: number, bytes: number): void;
  refused(reason: 'fenced' | 'lost'): void;
  /** The store has put `compare` into the open list, which was too long. */
  mustCompare(tag: number): void;
}

/** The batches of one tag, written one after another: a tag has one batch in flight. */
export class TagLane {
  readonly #tag: number;
  readonly #owner: LaneOwner;
  readonly #changed = new WakeUp();
  #buffer = emptyBatch();
  #queue: Batch[] = [];
  #running: Promise<void> | null = null;
  /** The store does not answer for this tag. */
  away = false;
  /** The turn of the beat that is due; 0 if none is. */
  #beatDue = 0;
  #carried: SettledPosition | null = null;
  #carriedMs = 0;
  #comparing: Comparing = { at: 'not' };
  /** The last beat that was answered stamped the tag. */
  #isStamped = false;

  constructor(tag: number, owner: LaneOwner) {
    this.#tag = tag;
    this.#owner = owner;
  }

  /** Batches that were sent and are not written yet. */
  get queued(): number {
    return this.#queue.length;
  }

  get comparing(): boolean {
    return this.#comparing.at === 'begun' || this.#comparing.at === 'under way';
  }

  /** Stamped, with nothing to compare (docs/rules.md#readable). */
  get isComplete(): boolean {
    return this.#isStamped && !this.comparing;
  }

  /** Adds writes to one batch, and sends it once it is full. True if it was sent. */
  add(...writes: readonly ViewWrite[]): boolean {
    const buffer = this.#buffer;
    for (const write of writes) {
      buffer.writes.push(write);
      const fields = write.kind === 'reader' ? write.fields.length : 0;
      buffer.fields += fields;
      buffer.views += write.kind === 'reader' ? fields : 1;
      buffer.bytes += bytesOf(write);
    }
    const isFull =
      buffer.writes.length >= batchKeysMax || buffer.fields >= batchFieldsMax || buffer.bytes >= batchBytesMax;
    if (isFull) this.flush();
    return isFull;
  }

  /** Sends what is buffered. */
  flush(): void {
    if (this.#buffer.writes.length === 0) return;
    this.#queue.push(this.#buffer);
    this.#buffer = emptyBatch();
    this.#run();
  }

  /** Moves the fence, even if there is nothing to write. */
  beat(turn: number): void {
    this.#beatDue = turn;
    this.#run();
  }

  /** The tag is in doubt: its open list says so before anything else is written. */
  beginCompare(saidAlready: boolean): void {
    this.#comparing = { at: saidAlready ? 'under way' : 'begun' };
  }

  /** All its views were compared. Its open list is complete again once it has the names of a whole round. */
  endCompare(): void {
    this.#comparing = { at: 'compared', round: this.#owner.round + 1 };
  }

  /** Sends an empty batch behind all others: `settled` waits for its answer. */
  check(): void {
    this.#queue.push(emptyBatch());
    this.#run();
  }

  /**
   * Resolves once all batches are written; without `patience` also once the store does not answer. It does not wait for
   * beats: with a slow store there is always one under way.
   */
  async settled(patience: boolean): Promise<void> {
    const { signal } = this.#owner;
    while (this.queued > 0 && !signal.aborted && (patience || !this.away)) await this.#changed.wait();
  }

  /** Resolves once no batch is in flight any more, after all was told to stop. */
  async ended(): Promise<void> {
    await this.#running;
  }

  get #isDue(): boolean {
    return this.#queue.length > 0 || this.#beatDue > 0;
  }

  #run(): void {
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = null;
      // Something was added after the queue was found empty.
      if (this.#isDue && !this.#owner.signal.aborted) this.#run();
      this.#changed.notify();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#isDue && !this.#owner.signal.aborted) {
      const [batch] = this.#queue;
      if (!(await this.#send(batch ?? emptyBatch()))) break;
      if (batch) this.#queue.shift();
      this.#changed.notify();
    }
  }

  /** False when told to stop, or refused. */
  async #send({ writes, views, bytes }: Batch): Promise<boolean> {
    const { notes, done } = this.#notes();
    const result = await this.#untilAnswered(() => this.#owner.writer.commit(this.#tag, writes, notes));
    if (result === null) return false;
    if (!result.committed) {
      this.#owner.refused(result.reason);
      return false;
    }
    done(result);
    this.#owner.wrote(views, bytes);
    return true;
  }

  #notes(): { notes: TagNotes; done(result: { process: string; compare: boolean }): void } {
    const { settled, round, clock } = this.#owner;
    const comparing = this.#comparing;
    const turn = this.#beatDue;
    const askedMs = clock.nowMs();
    const isDue = this.#owner.leaving || askedMs - this.#carriedMs >= positionEveryMs;
    const carries = settled !== null && settled !== this.#carried && isDue;
    const ends = carries && comparing.at === 'compared' && settled.start.round >= comparing.round;
    const notes: TagNotes = {
      ...(!this.comparing && { round }),
      ...(carries && { position: { text: settled.text, round: settled.start.round } }),
      ...(comparing.at === 'begun' && { compare: 'begin' }),
      ...(ends && { compare: 'end' }),
      ...(turn > 0 && { stamp: this.comparing ? '' : this.#owner.stampOf(this.#tag) }),
    };
    const done = ({ process, compare }: { process: string; compare: boolean }): void => {
      if (carries) [this.#carried, this.#carriedMs] = [settled, clock.nowMs()];
      if (comparing === this.#comparing) {
        if (comparing.at === 'begun') this.#comparing = { at: 'under way' };
        else if (ends) this.#comparing = { at: 'not' };
        else if (comparing.at === 'not' && compare) this.#owner.mustCompare(this.#tag);
      }
      if (turn > 0) this.#isStamped = process === notes.stamp;
      if (turn > 0) this.#owner.answered(this.#tag, process, turn, askedMs);
      if (turn === this.#beatDue) this.#beatDue = 0;
    };
    return { notes, done };
  }

  /** Attempts until the store answers; null when told to stop. */
  async #untilAnswered(attempt: () => Promise<CommitResult>): Promise<CommitResult | null> {
    const { clock, signal } = this.#owner;
    const onFailure = (): void => {
      this.away = true;
      this.#changed.notify();
    };
    const result = await retry(attempt, { limits, clock, signal, onFailure });
    this.away = false;
    return result;
  }
}

/** Bytes of a write's names and values, nearly: texts are ASCII. */
function bytesOf(write: ViewWrite): number {
  if (write.kind !== 'reader') return write.id.length + (write.value?.length ?? 0);
  let bytes = write.id.length;
  for (const { field, value } of write.fields) bytes += field.length + (value?.length ?? 0);
  return bytes;
}
