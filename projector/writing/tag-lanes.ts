import { beatMs, takeOverMsMin } from '../ports/leading.ts';
import type { ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import type { SettledPosition } from '../position/settled-position.ts';
import type { Clock } from '../running/clock.ts';
import { Stop } from '../running/stop.ts';
import { batchFieldsMax, type LaneOwner, TagLane } from './tag-lane.ts';

// Batches under way in all lanes. From this number on, adding waits, so that memory stays bounded.
const queuedMax = 32;

/** A leader can't go on (`TagLanes.refusal` says why), and need not try again. */
class RefusedError extends Error {
  override name = 'RefusedError';
  readonly retry = false;
}

interface TagLanesDeps {
  writer: ViewWriter;
  clock: Clock;
  signal: AbortSignal;
  tags: readonly number[];
  onWritten(views: number, bytes: number): void;
  /** The views of a tag must be compared: its open list has become too long. */
  onCompare(tag: number): void;
  /** `doubts` has risen: tags are stamped once `beginStamping` is called again. */
  onDoubt?(): void;
}

/**
 * One lane per tag, side by side. A tag whose store does not answer is tried again, with back-off of up to a second, while
 * the others flow on. A fence that is not as this leader left it ends all lanes.
 */
export class TagLanes implements LaneOwner {
  readonly #deps: TagLanesDeps;
  readonly writer: ViewWriter;
  readonly clock: Clock;
  readonly mustCompare: LaneOwner['mustCompare'];
  readonly #lanes: ReadonlyMap<number, TagLane>;
  /** Why the store takes no more of this leader: another one leads, or it is not as it was left. Null while it does. */
  refusal: 'fenced' | 'lost' | null = null;
  readonly #stop: Stop;
  readonly signal: AbortSignal;
  settled: SettledPosition | null = null;
  round = 0;
  leaving = false;
  /** Of all views so far. */
  bytesWritten = 0;
  // By tag, the store's process that answered last. Processes are stamped only once every tag was answered since the last
  // new one was noticed: each answer proves that the tag is as this leader left it.
  readonly #processes = new Map<number, string>();
  readonly #answeredTurns = new Map<number, number>();
  #noticedTurn = 0;
  #turn = 0;
  /** When a tag was last known to be this leader's. */
  #ledMs: number;
  /** How many processes of the store have answered so far, each counted once. */
  #answering = 0;
  /**
   * How often a process of the store was new, after a silence so long that another leader may have come and gone: the
   * store may be a copy from before it, and the views older than what readers have seen.
   */
  doubts = 0;
  /** What `doubts` was when the views were last known to be as new as any that a reader has seen. */
  #provenAt = -1;

  constructor(deps: TagLanesDeps) {
    this.#deps = deps;
    this.writer = deps.writer;
    this.clock = deps.clock;
    this.#ledMs = deps.clock.nowMs();
    this.mustCompare = deps.onCompare;
    this.#stop = new Stop([deps.signal]);
    this.signal = this.#stop.signal;
    this.#lanes = new Map(deps.tags.map((tag) => [tag, new TagLane(tag, this)]));
  }

  /** Whether the store does not answer for a tag. What is added now would only wait there. */
  isAway(tag: number): boolean {
    return this.lane(tag).away;
  }

  lane(tag: number): TagLane {
    return this.#lanes.get(tag)!;
  }

  /** Adds a write to its tag's batch. Waits while many batches are under way; for a tag that does not answer only with patience. */
  async add(tag: number, write: ViewWrite, { patience = false } = {}): Promise<void> {
    const lane = this.lane(tag);
    const parts = inParts(write);
    // Parts of a hash that is replaced stay in one batch: the first part alone would count as all of it.
    for (const together of isReplacing(write) ? [parts] : parts.map((part) => [part])) {
      if (lane.add(...together) && this.#queued() >= queuedMax) await lane.settled(patience);
    }
    this.#assertNotRefused();
  }

  flush(): void {
    for (const lane of this.#lanes.values()) lane.flush();
  }

  /** Sends what is buffered. True once all is written; false where a tag's store does not answer. Throws RefusedError. */
  async drain(): Promise<boolean> {
    this.flush();
    await Promise.all([...this.#lanes.values()].map((lane) => lane.settled(false)));
    this.#assertNotRefused();
    return !this.#lanes.values().some((lane) => lane.queued > 0);
  }

  /** As `drain`, of some tags, however long it takes. */
  async written(tags: readonly number[]): Promise<void> {
    for (const tag of tags) this.lane(tag).flush();
    await Promise.all(tags.map((tag) => this.lane(tag).settled(true)));
    this.#assertNotRefused();
  }

  /** Beats until told to stop (docs/rules.md#fence). Rejects with RefusedError. */
  async run(): Promise<void> {
    while (!this.signal.aborted) {
      this.beat();
      await this.clock.sleep(beatMs, this.signal);
    }
    this.#assertNotRefused();
  }

  /** Resolves once no batch is in flight any more, after all was told to stop: its fence would move. */
  async ended(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map((lane) => lane.ended()));
  }

  /** Every lane beats now, also during a long round: API processes take it as a sign of life. */
  beat(): void {
    if (this.leaving) return;
    this.#turn += 1;
    for (const lane of this.#lanes.values()) lane.beat(this.#turn);
  }

  /**
   * Resolves once the store has answered for each of these tags, to how many of its processes have answered so far. What was read
   * between two calls that give the same was read from one state of the store. Throws RefusedError.
   */
  async processesSeen(tags: readonly number[]): Promise<number> {
    this.beat();
    for (const tag of tags) this.lane(tag).check();
    await this.written(tags);
    return this.#answering;
  }

  /** As `drain`, with a last batch in every lane that carries the position. No fence moves after it. */
  leave(): Promise<boolean> {
    this.leaving = true;
    for (const lane of this.#lanes.values()) lane.check();
    return this.drain();
  }

  /**
   * The views are as new as any that a reader has seen: the log's ends, asked for when `doubts` was this, are folded and
   * written. Tags are stamped as complete from now on, until the next doubt.
   */
  beginStamping(doubts: number): void {
    this.#provenAt = doubts;
    this.beat();
  }

  /** The process of the store that a tag may be stamped complete for (docs/rules.md#complete); empty for none. */
  stampOf(tag: number): string {
    if (this.#provenAt !== this.doubts) return '';
    const answered = this.#deps.tags.every((each) => (this.#answeredTurns.get(each) ?? 0) > this.#noticedTurn);
    return answered ? this.#processes.get(tag)! : '';
  }

  /** Whether all that is written is there to be read: every tag is stamped complete, and none waits for a compare. */
  get isComplete(): boolean {
    const { tags } = this.#deps;
    return this.stampOf(tags[0]!) !== '' && tags.every((tag) => this.lane(tag).isComplete);
  }

  answered(tag: number, process: string, turn: number, askedMs: number): void {
    const silentMs = this.clock.nowMs() - this.#ledMs;
    this.#ledMs = Math.max(this.#ledMs, askedMs);
    const isNew = ![...this.#processes.values()].includes(process);
    this.#processes.set(tag, process);
    this.#answeredTurns.set(tag, turn);
    if (!isNew) {
      // The last tag to answer since then: all may be stamped now.
      if (turn === this.#noticedTurn + 1 && this.stampOf(tag) !== '') this.beat();
      return;
    }
    this.#answering += 1;
    this.#noticedTurn = this.#turn;
    if (silentMs >= takeOverMsMin) {
      this.doubts += 1;
      this.#deps.onDoubt?.();
    }
    this.beat();
  }

  wrote(views: number, bytes: number): void {
    this.bytesWritten += bytes;
    this.#deps.onWritten(views, bytes);
  }

  refused(reason: 'fenced' | 'lost'): void {
    this.refusal ??= reason;
    this.#stop.end();
  }

  #queued(): number {
    return this.#lanes.values().reduce((queued, lane) => queued + lane.queued, 0);
  }

  #assertNotRefused(): void {
    if (this.refusal) throw new RefusedError(`Cannot write views: ${this.refusal}`);
  }
}

const isReplacing = (write: ViewWrite): boolean => write.kind === 'reader' && write.replaces === true;

/** A write whose parts each fit into a batch: a reader of many days is written in several. */
function inParts(write: ViewWrite): readonly ViewWrite[] {
  if (write.kind !== 'reader' || write.fields.length <= batchFieldsMax) return [write];
  const { fields, replaces, ...named } = write;
  const parts: ViewWrite[] = [];
  for (let i = 0; i < fields.length; i += batchFieldsMax) {
    const first = i === 0 && replaces ? { replaces } : {};
    parts.push({ ...named, ...first, fields: fields.slice(i, i + batchFieldsMax) });
  }
  return parts;
}
