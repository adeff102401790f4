import { takeOverMsMin } from '../ports/leading.ts';
import type { Clock } from '../running/clock.ts';

interface StampProofDeps {
  clock: Clock;
  tags: readonly number[];
  /** `doubts` has risen: tags are stamped once `begin` is called again. */
  onDoubt?(): void;
}

/**
 * Which process of the store a tag may be stamped complete for (docs/rules.md#complete): one that every tag was answered since it
 * was noticed, as each answer proves that the tag is as this leader left it.
 */
export class StampProof {
  readonly #deps: StampProofDeps;
  /** By tag, the store's process that answered last, and the turn of the beat that it answered. */
  readonly #processes = new Map<number, string>();
  readonly #answeredTurns = new Map<number, number>();
  #noticedTurn = 0;
  #turn = 0;
  /** When a tag was last known to be this leader's. */
  #ledMs: number;
  /** How many processes of the store have answered so far, each counted once. */
  answering = 0;
  /**
   * Counts the new processes of the store that answered only after a silence in which another leader may have led. Such a
   * store may be a copy from before that leader, with views older than what readers have seen.
   */
  doubts = 0;
  /** What `doubts` was when the views were last known to be as new as any that a reader has seen. */
  #provenAt = -1;

  constructor(deps: StampProofDeps) {
    this.#deps = deps;
    this.#ledMs = deps.clock.nowMs();
  }

  /** The turn of a beat that begins now. */
  nextTurn(): number {
    this.#turn += 1;
    return this.#turn;
  }

  /** The views are as new as any that a reader has seen, since `doubts` was this: tags may be stamped until the next doubt. */
  begin(doubts: number): void {
    this.#provenAt = doubts;
  }

  /** The process that these tags may be stamped for; empty where there is none. */
  stampOf(tags: readonly number[]): string {
    const [process, ...others] = new Set(tags.map((tag) => this.#processes.get(tag)));
    return this.#isProven && process && others.length === 0 ? process : '';
  }

  /**
   * A process of the store answered a beat: these tags were this leader's when it was asked, at `askedMs`. True if a beat is due: it
   * is new, or it is proven by now.
   */
  answered(tags: readonly number[], process: string, turn: number, askedMs: number): boolean {
    const silentMs = this.#deps.clock.nowMs() - this.#ledMs;
    this.#ledMs = Math.max(this.#ledMs, askedMs);
    const wasProven = this.#isProven;
    const isNew = ![...this.#processes.values()].includes(process);
    for (const tag of tags) {
      this.#processes.set(tag, process);
      this.#answeredTurns.set(tag, turn);
    }
    if (!isNew) return !wasProven && this.#isProven;
    this.answering += 1;
    this.#noticedTurn = this.#turn;
    if (silentMs >= takeOverMsMin) {
      this.doubts += 1;
      this.#deps.onDoubt?.();
    }
    return true;
  }

  get #isProven(): boolean {
    const { tags } = this.#deps;
    if (this.#provenAt !== this.doubts) return false;
    return tags.every((tag) => (this.#answeredTurns.get(tag) ?? 0) > this.#noticedTurn);
  }
}
