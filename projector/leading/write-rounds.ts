import type { Folding } from '../intake/folding.ts';
import type { Clock } from '../ports/clock.ts';
import { silentMsMax } from '../ports/leading.ts';
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
  changes: UnreadableChanges;
  fanOuts: Pick<FanOuts, 'told'>;
  clock: Clock;
  signal: AbortSignal;
  /** Folds the log to its ends as they are now. */
  catchUp(): Promise<void>;
  /** The first round is written whole: the views stand where the leader before left them, or further. */
  onStand(): void;
}

/** Writes rounds until told to stop: one after another while changes come, with a pause after a heavy one. */
export async function writeRounds(deps: WriteRoundsDeps): Promise<void> {
  const { rounds, lanes, folding, changes, fanOuts, clock, signal } = deps;
  let stands = false;
  // Of `lanes.doubts`: up to which one the log was folded to its ends since. A new leader has done so since it took the tags.
  let caughtUp = 0;
  let catchingUp = 0;
  let stampedAt = 0;
  let fault: unknown = null;
  // At least one round: it holds what was left by the leader before.
  while (!signal.aborted) {
    // docs/rules.md#complete. This process may have stood still while another one led, and the store be a copy from before that. Then the fences are
    // as this leader left them, and the views older than what readers have seen.
    const { doubts } = lanes;
    if (catchingUp !== doubts) {
      catchingUp = doubts;
      // A log that is away for longer delays no more than this: waiting brings nothing better.
      const late = clock.sleep(silentMsMax, signal);
      Promise.race([deps.catchUp(), late]).then(
        () => {
          caughtUp = Math.max(caughtUp, doubts);
        },
        (cause: unknown) => {
          fault = cause;
        },
      );
    }
    if (fault !== null) throw fault;
    const provenAt = caughtUp;
    const bytesBefore = lanes.bytesWritten;
    const begun = changes.begin();
    const all = await rounds.run(folding.position);
    if (all) changes.written(begun, fanOuts.told);
    if (all && (!stands || provenAt !== stampedAt)) {
      stampedAt = provenAt;
      lanes.beginStamping(provenAt);
    }
    if (all && !stands) deps.onStand();
    stands ||= all;
    if (!all) await clock.sleep(awayPauseMs, signal);
    else if (lanes.bytesWritten - bytesBefore > heavyRoundBytes) await clock.sleep(heavyRoundPauseMs, signal);
    if (rounds.idle && caughtUp === provenAt && !signal.aborted) await folding.moved.waitAtMost(idleMs, clock, signal);
  }
}
