import type { TagNotes, ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import type { SettledPosition } from '../position/settled-position.ts';
import type { Clock } from '../running/clock.ts';
import { retry, WakeUp } from '../running/waiting.ts';
import type { StampProof } from './stamp-proof.ts';

// A batch is one script call, and blocks the store for about a millisecond (docs/rules.md#batch). Riders' fields are short.
const batchKeysMax = 200;
export const batchFieldsMax = 500;
const batchBytesMax = 512 * 1024;
// A batch that the store refused is sent again before a standby takes the fence for still.
const limits = { minMs: 50, maxMs: 1_000 };
const positionEveryMs = 250;
// One that stands still is stored again: another program may have written over it.
const positionAgainMs = 60_000;

interface Batch {
  writes: ViewWrite[];
  /** Keys and fields: each is a view. */
  views: number;
  bytes: number;
}

const emptyBatch = (): Batch => ({ writes: [], views: 0, bytes: 0 });

/**
 * Where the compare of a tag's views is, as its open list says: `begun` is not yet written there, `under way` is. After
 * `compared` it says so until a position from that round on is stored.
 */
type Comparing = { at: 'not' } | { at: 'begun' } | { at: 'under way' } | { at: 'compared'; round: number };

/** What the lanes of a term share. */
interface LaneDeps {
  readonly writer: Pick<ViewWriter, 'commit'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly proof: StampProof;
  /** The round under way. */
  readonly round: number;
  /** The position to store; null before the first round is finished. */
  readonly settled: SettledPosition | null;
  /** The term ends: the last batches carry the position, even if one was stored just now. */
  readonly leaving: boolean;
  wrote(views: number, bytes: number): void;
  refused(reason: 'fenced' | 'lost'): void;
  /** A beat is due. */
  beat(): void;
  /** The store has put `compare` into the open list, which was too long. */
  mustCompare(tag: number): void;
}

/** The batches of one tag, written one after another: a tag has one batch in flight. */
export class TagLane {
  readonly tag: number;
  readonly #deps: LaneDeps;
  readonly #changed = new WakeUp();
  #buffer = emptyBatch();
  #queue: Batch[] = [];
  #running: Promise<void> | null = null;
  /** The store does not answer for this tag. What is added now would only wait here. */
  away = false;
  /** The turn of the beat that is due; 0 if none is. */
  #beatDue = 0;
  #carried: SettledPosition | null = null;
  #carriedMs = 0;
  /** The round that last put a name into the open list; 0 for names that were there. */
  #namedIn = 0;
  #comparing: Comparing = { at: 'not' };
  /** The last beat that was answered stamped the tag. */
  #isStamped = false;

  constructor(tag: number, deps: LaneDeps) {
    this.tag = tag;
    this.#deps = deps;
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
      buffer.views += write.kind === 'reader' ? write.fields.length : 1;
      buffer.bytes += bytesOf(write);
    }
    const isFull =
      buffer.writes.length >= batchKeysMax || buffer.views >= batchFieldsMax || buffer.bytes >= batchBytesMax;
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

  /** A beat of several tags may stand for one of this: nothing is in flight, due, or to be compared. */
  get isQuiet(): boolean {
    return this.#running === null && !this.#isDue && this.#comparing.at === 'not';
  }

  /** The position is to be stored, though there is nothing to write. */
  get isPositionDue(): boolean {
    return this.#carries(this.#deps.settled);
  }

  /** The open list may have names. */
  get mayHaveNames(): boolean {
    return this.#namedIn >= (this.#carried?.start.round ?? 0);
  }

  /** A beat of several tags was answered. `carried`: the position that it has stored. */
  joined(isStamped: boolean, carried: SettledPosition | null): void {
    this.#isStamped = isStamped;
    if (carried) [this.#carried, this.#carriedMs] = [carried, this.#deps.clock.nowMs()];
  }

  /** The tag is in doubt: its open list says so before anything else is written. */
  beginCompare(saidAlready: boolean): void {
    this.#comparing = { at: saidAlready ? 'under way' : 'begun' };
  }

  /** All its views were compared. Its open list is complete again once it has the names of a whole round. */
  endCompare(): void {
    this.#comparing = { at: 'compared', round: this.#deps.round + 1 };
  }

  /** Sends an empty batch behind all others, for whose answer `settled` waits. `turn`: it is a beat too, or the one before it. */
  ping(turn = this.#beatDue): void {
    this.#beatDue = turn;
    this.#queue.push(emptyBatch());
    this.#run();
  }

  /**
   * Resolves once all batches are written; without `patience` also once the store does not answer. It does not wait for
   * beats: with a slow store there is always one under way.
   */
  async settled(patience: boolean): Promise<void> {
    const { signal } = this.#deps;
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
    if (!this.#running) this.sends(this.#sendAll());
  }

  /** These calls are in flight for this tag, by itself or with others: nothing else is sent before they are answered. */
  sends(calls: Promise<void>): void {
    this.#running = calls.finally(() => {
      this.#running = null;
      // Something was added after the queue was found empty.
      if (this.#isDue && !this.#deps.signal.aborted) this.#run();
      this.#changed.notify();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#isDue && !this.#deps.signal.aborted) {
      const [batch] = this.#queue;
      if (!(await this.#send(batch ?? emptyBatch()))) break;
      if (batch) this.#queue.shift();
      this.#changed.notify();
    }
  }

  /** False when told to stop, or refused. */
  async #send({ writes, views, bytes }: Batch): Promise<boolean> {
    const { writer } = this.#deps;
    const { notes, done } = this.#notes(writes.length > 0);
    const result = await untilAnswered([this], () => writer.commit(this.tag, writes, notes), this.#deps);
    if (result === null) return false;
    if (!result.committed) {
      this.#deps.refused(result.reason);
      return false;
    }
    done(result);
    this.#deps.wrote(views, bytes);
    return true;
  }

  /** Whether a batch stores this position: it is news, or names leave the open list with it, or a compare ends. */
  #carries(settled: SettledPosition | null): settled is SettledPosition {
    const { clock, leaving } = this.#deps;
    if (settled === null || settled === this.#carried) return false;
    const sinceMs = clock.nowMs() - this.#carriedMs;
    if (!leaving && sinceMs < positionEveryMs) return false;
    const isNews =
      settled.text !== this.#carried?.text || sinceMs >= positionAgainMs || this.#comparing.at === 'compared';
    return isNews || (this.mayHaveNames && this.#namedIn < settled.start.round);
  }

  #notes(isNaming: boolean): { notes: TagNotes; done(result: { process: string; compare: boolean }): void } {
    const { settled, round, clock, proof } = this.#deps;
    const comparing = this.#comparing;
    const turn = this.#beatDue;
    const askedMs = clock.nowMs();
    const carries = this.#carries(settled);
    const ends = carries && comparing.at === 'compared' && settled.start.round >= comparing.round;
    const notes: TagNotes = {
      ...(!this.comparing && { round }),
      ...(carries && { position: { text: settled.text, round: settled.start.round } }),
      ...(comparing.at === 'begun' && { compare: 'begin' }),
      ...(ends && { compare: 'end' }),
      ...(turn > 0 && { stamp: this.comparing ? '' : proof.stampOf([this.tag]) }),
    };
    const done = ({ process, compare }: { process: string; compare: boolean }): void => {
      if (carries) [this.#carried, this.#carriedMs] = [settled, clock.nowMs()];
      if (isNaming && notes.round !== undefined) this.#namedIn = notes.round;
      if (comparing === this.#comparing) {
        if (comparing.at === 'begun') this.#comparing = { at: 'under way' };
        else if (ends) this.#comparing = { at: 'not' };
        else if (comparing.at === 'not' && compare) this.#deps.mustCompare(this.tag);
      }
      if (turn > 0) this.#isStamped = process === notes.stamp;
      if (turn === this.#beatDue) this.#beatDue = 0;
      if (turn > 0 && proof.answered([this.tag], process, turn, askedMs)) this.#deps.beat();
    };
    return { notes, done };
  }

  /** The store does not answer for this tag, or does again. */
  setAway(away: boolean): void {
    this.away = away;
    if (away) this.#changed.notify();
  }
}

/** Attempts until the store answers for these lanes; null when told to stop. */
export async function untilAnswered<T>(
  lanes: readonly TagLane[],
  attempt: () => Promise<T>,
  { clock, signal }: Pick<LaneDeps, 'clock' | 'signal'>,
): Promise<T | null> {
  const onFailure = (): void => {
    for (const lane of lanes) lane.setAway(true);
  };
  const result = await retry(attempt, { limits, clock, signal, onFailure });
  for (const lane of lanes) lane.setAway(false);
  return result;
}

/** Bytes of a write's names and values, nearly: texts are ASCII. */
function bytesOf(write: ViewWrite): number {
  if (write.kind !== 'reader') return write.id.length + (write.value?.length ?? 0);
  let bytes = write.id.length;
  for (const { field, value } of write.fields) bytes += field.length + (value?.length ?? 0);
  return bytes;
}
