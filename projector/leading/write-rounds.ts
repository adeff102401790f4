import type { Folding } from '../intake/folding.ts';
import { silentMsMax } from '../ports/leading.ts';
import type { Clock } from '../running/clock.ts';
import { race } from '../running/stop.ts';
import type { UnreadableChanges } from '../status/unreadable-changes.ts';
import type { FanOuts } from '../writing/fan-outs.ts';
import type { Rounds } from '../writing/rounds.ts';
import type { TagLanes } from '../writing/tag-lanes.ts';

const idleMs = 1_000;
// A day of a hundred nights is 40 kB. Rewriting it for every RSVP of a busy evening would be most of the traffic.
const heavyRoundBytes = 100_000;
const heavyRoundPauseMs = 20;
// While a tag's store does not answer, its views stay marked: the next round need not begin at once.
const awayPauseMs = 100;

interface WriteRoundsDeps {
  rounds: Rounds;
  lanes: TagLanes;
  folding: Folding;
  /** Folds the log to its ends as they are now. */
  foldToEnds(): Promise<void>;
  changes: UnreadableChanges;
  fanOuts: Pick<FanOuts, 'told'>;
  clock: Clock;
  signal: AbortSignal;
  /** The first round is written whole: the views stand where the leader before left them, or further. */
  onStand(): void;
}

/** Writes rounds until told to stop: one after another while changes come, with a pause after a heavy one. */
export async function writeRounds(deps: WriteRoundsDeps): Promise<void> {
  const { rounds, lanes, folding, changes, fanOuts, clock, signal } = deps;
  const catchUp = new CatchUp(deps);
  let stands = false;
  let stampedAfter: number | null = null;
  // At least one round: it holds what was left by the leader before.
  while (!signal.aborted) {
    catchUp.after(lanes.doubts);
    const provenAfter = catchUp.doubt;
    const bytesBefore = lanes.bytesWritten;
    const begun = changes.begin();
    const all = await rounds.run(folding.position);
    if (all) changes.written(begun, fanOuts.told);
    if (all && provenAfter !== stampedAfter) {
      stampedAfter = provenAfter;
      lanes.beginStamping(provenAfter);
    }
    if (all && !stands) deps.onStand();
    stands ||= all;
    if (!all) await clock.sleep(awayPauseMs, signal);
    else if (lanes.bytesWritten - bytesBefore > heavyRoundBytes) await clock.sleep(heavyRoundPauseMs, signal);
    const isStill = rounds.idle && catchUp.doubt === provenAfter;
    if (isStill && !signal.aborted) await folding.moved.waitAtMost(idleMs, clock, signal);
  }
}

/**
 * Folds the log to its ends after each doubt (TagLanes.doubts), while rounds go on (docs/rules.md#complete). A round that
 * begins after that writes views as new as any that a reader has seen.
 */
class CatchUp {
  readonly #deps: Pick<WriteRoundsDeps, 'foldToEnds' | 'clock' | 'signal'>;
  /** The last doubt after which the log was folded. 0: before it leads, a leader has folded the log since it took the tags. */
  #doubt = 0;
  #begun = 0;
  #fault: unknown = null;

  constructor(deps: Pick<WriteRoundsDeps, 'foldToEnds' | 'clock' | 'signal'>) {
    this.#deps = deps;
  }

  /** `#doubt`. Throws what ended the fold. */
  get doubt(): number {
    if (this.#fault !== null) throw this.#fault;
    return this.#doubt;
  }

  /** Begins to catch up, if that has not begun since this doubt. */
  after(doubt: number): void {
    if (doubt === this.#begun) return;
    this.#begun = doubt;
    const { foldToEnds, clock, signal } = this.#deps;
    // A log that is away for longer delays no more than this: waiting brings nothing better.
    race(null, foldToEnds(), clock.sleep(silentMsMax, signal)).then(
      () => {
        this.#doubt = Math.max(this.#doubt, doubt);
      },
      (cause: unknown) => {
        this.#fault = cause;
      },
    );
  }
}
