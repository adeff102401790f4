/**
 * A step in the life of a term. Each is made by `Life.to`, which knows these arrows and no others:
 *
 * ```
 * stand by ⇄ look ──► take ──► fold ──► begin ──► write ──► free
 *    ▲ ▲ ▲             │        ▲ │       │         │
 *    │ │ └─────────────┘        │ └───────┴─────────┼─────► ended
 *    │ └─────────────────── take again ◄─── lost ◄──┤
 *    └─────────────────────────────────── fenced ◄──┘
 * ```
 *
 * A store in this process has no other leader: its one term begins with `take`. Who is told to stop before a term begins has
 * nothing to end.
 */
export type Step =
  /** Waits, and folds up to where the leader has got. */
  | 'stand by'
  /** Asks all tags for their fences and positions. From here on these are known to stand still, or to be free. */
  | 'look'
  /** Takes all tags or none, each from the fence that was seen. */
  | 'take'
  /** Leads: its fences move. Folds through where the tags were left, to the log's ends. */
  | 'fold'
  /** Asks whether there is room, and marks what the leader before left undone. */
  | 'begin'
  /** Writes rounds, compares and checks. */
  | 'write'
  /** Told to stop: all is written, and anybody may take the tags. */
  | 'free'
  /** Refused: another projector has taken a tag. */
  | 'fenced'
  /** Refused: a fence is not as it was left, so the store lost or changed something. */
  | 'lost'
  /** As `take`, each tag from the fence that it has now. */
  | 'take again'
  /** A fault; or told to stop, and the store does not answer. The tags stay taken until their fences have stood still. */
  | 'ended';

export type TermEnd = Extract<Step, 'free' | 'fenced' | 'lost' | 'ended'>;

const ends: readonly TermEnd[] = ['free', 'fenced', 'lost', 'ended'];
const arrows: Record<Step, readonly Step[]> = {
  'stand by': ['look'],
  look: ['stand by', 'take'],
  take: ['stand by', 'fold'],
  fold: ['begin', ...ends],
  begin: ['write', ...ends],
  write: ends,
  free: [],
  fenced: ['stand by'],
  lost: ['take again'],
  'take again': ['stand by', 'fold'],
  ended: [],
};

/** Where the life of a projector's terms is. */
export class Life {
  #step: Step;
  readonly #onRole: (role: 'leader' | 'standby') => void;

  /** `onRole`: what it is from now on. It may be told again what it is. */
  constructor(first: 'stand by' | 'take', onRole: (role: 'leader' | 'standby') => void) {
    this.#step = first;
    this.#onRole = onRole;
  }

  to(next: Step): void {
    if (!arrows[this.#step].includes(next))
      throw new Error(
        `Cannot go from "${this.#step}" to "${next}" in the life of a term. This is a fault of the program`,
      );
    this.#step = next;
    if (next === 'fold') this.#onRole('leader');
    if (next === 'stand by') this.#onRole('standby');
  }
}
