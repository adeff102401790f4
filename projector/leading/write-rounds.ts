import type { Folding } from '../intake/folding.ts';
import { silentMsMax } from '../ports/leading.ts';
import type { Clock } from '../running/clock.ts';
import { race } from '../running/stop.ts';
import { Turns } from '../running/waiting.ts';
import type { UnreadableChanges } from '../status/unreadable-changes.ts';
import type { FanOuts } from '../writing/fan-outs.ts';
import type { Rounds } from '../writing/rounds.ts';
import type { TagLanes } from '../writing/tag-lanes.ts';

const idleMs = 1_000;
// A day of a hundred nights is 40 kB, and would be rewritten for every RSVP of a busy evening: beyond 20 MB a second rounds
// wait, so that each holds more changes.
const bytesPerMs = 20_000;
const pauseMsMax = 20;
// While a tag's store does not answer, its views stay marked: the next round need not begin at once.
const awayPauseMs = 100;

interface WriteRoundsDeps {
  rounds: Pick<Rounds, 'run' | 'idle'>;
  lanes: Pick<TagLanes, 'bytesWritten' | 'beginStamping'> & { proof: { readonly doubts: number } };
  folding: Pick<Folding, 'position'> & { moved: Pick<Folding['moved'], 'waitAtMost'> };
  /** Folds the log to its ends as they are now. */
  foldToEnds(): Promise<void>;
  changes: Pick<UnreadableChanges, 'begin' | 'written'>;
  fanOuts: Pick<FanOuts, 'told'>;
  clock: Clock;
  signal: AbortSignal;
  /** The first round is written whole: the views stand where the leader before left them, or further. */
  onStand(): void;
}

/**
 * Writes rounds until told to stop: one after another while changes come, with a pause where they write much. After each doubt
 * (StampProof.doubts) it folds the log to its ends meanwhile: a round that begins after that writes views as new as any that
 * a reader has seen, so tags may be stamped again (docs/rules.md#complete).
 */
export async function writeRounds(deps: WriteRoundsDeps): Promise<void> {
  const { rounds, lanes, folding, foldToEnds, changes, fanOuts, clock, signal } = deps;
  // The last doubt that was seen, the last after which the log was folded, and the one of the last stamps. 0: a leader has
  // folded the log since it took the tags.
  const doubt = { seen: 0, folded: 0, stamped: -1 };
  const faults: unknown[] = [];
  const foldAfter = (seen: number): void => {
    doubt.seen = seen;
    // A log that is away for longer delays no more than this: waiting brings nothing better.
    race(null, foldToEnds(), clock.sleep(silentMsMax, signal)).then(
      () => {
        doubt.folded = Math.max(doubt.folded, seen);
      },
      (cause: unknown) => faults.push(cause),
    );
  };
  let stands = false;
  // At least one round: it holds what was left by the leader before.
  while (!signal.aborted) {
    if (lanes.proof.doubts !== doubt.seen) foldAfter(lanes.proof.doubts);
    const provenAfter = doubt.folded;
    const [bytesBefore, beganMs] = [lanes.bytesWritten, clock.nowMs()];
    const begun = changes.begin();
    const all = await rounds.run(folding.position);
    if (all) changes.written(begun, fanOuts.told);
    if (all && provenAfter !== doubt.stamped) {
      doubt.stamped = provenAfter;
      lanes.beginStamping(provenAfter);
    }
    if (all && !stands) deps.onStand();
    stands ||= all;
    if (!all) await clock.sleep(awayPauseMs, signal);
    else {
      const earlyMs = (lanes.bytesWritten - bytesBefore) / bytesPerMs - (clock.nowMs() - beganMs);
      if (earlyMs >= 1) await clock.sleep(Math.min(earlyMs, pauseMsMax), signal);
    }
    if (faults.length > 0) throw faults[0];
    const isStill = rounds.idle && doubt.folded === provenAfter;
    if (isStill && !signal.aborted) await folding.moved.waitAtMost(idleMs, clock, signal);
    // What came together is folded in one turn: all of it is in the next round.
    await new Turns(clock).take();
  }
}
