import { beatMs } from '../ports/leading.ts';
import type { ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import type { SettledPosition } from '../position/settled-position.ts';
import type { Clock } from '../running/clock.ts';
import { Stop } from '../running/stop.ts';
import { StampProof } from './stamp-proof.ts';
import { batchFieldsMax, TagLane, untilAnswered } from './tag-lane.ts';

// Batches under way in all lanes. From this number on, adding waits, so that memory stays bounded.
const queuedMax = 8;

/** A leader can't go on (`TagLanes.refusal` says why), and need not try again. */
class RefusedError extends Error {
  override name = 'RefusedError';
  readonly retry = false;
}

interface TagLanesDeps {
  writer: Pick<ViewWriter, 'commit' | 'beat'>;
  clock: Clock;
  signal: AbortSignal;
  tags: readonly number[];
  onWritten(views: number, bytes: number): void;
  /** The views of a tag must be compared: its open list has become too long. */
  onCompare(tag: number): void;
  /** `proof.doubts` has risen: tags are stamped once `beginStamping` is called again. */
  onDoubt?(): void;
}

/**
 * One lane per tag, side by side. A tag whose store does not answer is tried again, with back-off of up to a second, while
 * the others flow on. A fence that is not as this leader left it ends all lanes.
 */
export class TagLanes {
  readonly #deps: TagLanesDeps;
  readonly writer: TagLanesDeps['writer'];
  readonly clock: Clock;
  readonly mustCompare: (tag: number) => void;
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
  readonly proof: StampProof;
  /** The lanes that a beat of several tags is in flight for. */
  #together: ReadonlySet<TagLane> = new Set();
  /** Another beat was due meanwhile. */
  #isBeatDue = false;
  /** What the store said last of compares that somebody asked for. */
  #asked = '';

  constructor(deps: TagLanesDeps) {
    this.#deps = deps;
    this.writer = deps.writer;
    this.clock = deps.clock;
    this.proof = new StampProof(deps);
    this.mustCompare = deps.onCompare;
    this.#stop = new Stop([deps.signal]);
    this.signal = this.#stop.signal;
    this.#lanes = new Map(deps.tags.map((tag) => [tag, new TagLane(tag, this)]));
  }

  lane(tag: number): TagLane {
    return this.#lanes.get(tag)!;
  }

  /** Adds a write to its tag's batch. Waits while many batches are under way; for a tag that does not answer only with patience. */
  async add(tag: number, write: ViewWrite, { patience = false } = {}): Promise<void> {
    const lane = this.lane(tag);
    const parts = inParts(write);
    // Parts of a hash that is replaced stay in one batch: the first part alone would count as all of it.
    const isReplacing = write.kind === 'reader' && write.replaces === true;
    for (const together of isReplacing ? [parts] : parts.map((part) => [part])) {
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

  /**
   * Every lane beats now, also during a long round: API processes take it as a sign of life. Where the store can, those with
   * nothing in flight beat together; a beat that comes while that is under way follows it.
   */
  beat(): void {
    if (this.leaving || this.signal.aborted) return;
    const turn = this.proof.nextTurn();
    const lanes = [...this.#lanes.values()];
    const canJoin = (lane: TagLane): boolean => lane.isQuiet || this.#together.has(lane);
    const joining = this.writer.beat ? lanes.filter(canJoin) : [];
    for (const lane of lanes) if (!joining.includes(lane)) lane.beat(turn);
    if (joining.length === 0) return;
    if (this.#together.size > 0) this.#isBeatDue = true;
    else this.#beatTogether(joining, turn);
  }

  #beatTogether(lanes: readonly TagLane[], turn: number): void {
    const beat = this.#sendBeat(lanes, turn);
    for (const lane of lanes) lane.sends(beat);
    this.#together = new Set(lanes);
    // After the lanes, which are free to send by then.
    void beat.finally(() => {
      this.#together = new Set();
      if (!this.#isBeatDue) return;
      this.#isBeatDue = false;
      this.beat();
    });
  }

  async #sendBeat(lanes: readonly TagLane[], turn: number): Promise<void> {
    const { clock, settled, proof } = this;
    const tags = lanes.map(({ tag }) => tag);
    const askedMs = clock.nowMs();
    const stamp = proof.stampOf(tags);
    const carried = lanes.some(({ isPositionDue }) => isPositionDue) ? settled : null;
    const cut = lanes.filter(({ mayHaveNames }) => mayHaveNames).map(({ tag }) => tag);
    const position = carried && { text: carried.text, round: carried.start.round, cut };
    const notes = { stamp, ...(position && { position }) };
    const result = await untilAnswered(lanes, () => this.writer.beat!(tags, notes), this);
    if (result === null) return;
    if (!result.committed) return this.refused(result.reason);
    const { process, asked } = result;
    for (const lane of lanes) lane.joined(process === stamp, carried);
    if (proof.answered(tags, process, turn, askedMs)) this.#isBeatDue = true;
    if (asked === this.#asked) return;
    this.#asked = asked;
    // Their open lists say whether they must be compared.
    for (const lane of this.#lanes.values()) lane.ping();
  }

  /**
   * Resolves once the store has answered for each of these tags, to how many of its processes have answered so far. What was read
   * between two calls that give the same was read from one state of the store. Throws RefusedError.
   */
  async processesSeen(tags: readonly number[]): Promise<number> {
    const turn = this.proof.nextTurn();
    for (const tag of tags) this.lane(tag).ping(turn);
    await this.written(tags);
    return this.proof.answering;
  }

  /** As `drain`, with a last batch in every lane that carries the position. No fence moves after it. */
  leave(): Promise<boolean> {
    this.leaving = true;
    for (const lane of this.#lanes.values()) lane.ping();
    return this.drain();
  }

  /**
   * The views are as new as any that a reader has seen: the log's ends, asked for when `proof.doubts` was this, are folded
   * and written. Tags are stamped as complete from now on, until the next doubt.
   */
  beginStamping(doubts: number): void {
    this.proof.begin(doubts);
    this.beat();
  }

  /** Whether all that is written is there to be read: every tag is stamped complete, and none waits for a compare. */
  get isComplete(): boolean {
    return this.#lanes.values().every((lane) => lane.isComplete);
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
