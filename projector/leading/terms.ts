import type { Folding } from '../intake/folding.ts';
import { type EventLog, FoldAgainError, type LogBounds, type Position } from '../ports/event-log.ts';
import { beatMs } from '../ports/leading.ts';
import type { Leadership, TagLook } from '../ports/view-writer.ts';
import { assertSamePartitions, isWithin, nearest, positionOf } from '../position/position.ts';
import { parseStoredPosition } from '../position/settled-position.ts';
import { race } from '../running/stop.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import type { Leader } from './leader.ts';
import type { SignsOfLife } from './signs-of-life.ts';
import { standBy, type TakenTags, takeAll } from './standby.ts';

interface TermsDeps extends RetryDeps {
  eventLog: EventLog;
  leadership: Leadership;
  tags: readonly number[];
  folding: Folding;
  leader: Leader;
  signs: SignsOfLife;
  status: Status;
  bounds: LogBounds;
  /** Which log it is; null where that is not known. */
  identity: string | null;
}

/** Stands by, leads, and stands by again, until told to stop. */
export class Terms {
  readonly #deps: TermsDeps;
  /** Up to where the last look let it fold. */
  #lastLimit: Position | null = null;

  constructor(deps: TermsDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { folding, signal, status } = this.#deps;
    while (!signal.aborted) {
      const seen = await this.#standBy();
      if (seen === null) return;
      const taken = await this.#takeAll(seen);
      if (taken === null) continue;
      status.stand('leader');
      if ((await this.#lead(taken)) === 'stopped') return;
      // docs/rules.md#rejected
      folding.intake.aside.end();
      status.stand('standby');
      this.#lastLimit = null;
    }
  }

  /** Resolves to the fences that may be taken. */
  #standBy(): Promise<readonly string[] | null> {
    const { signs, status } = this.#deps;
    return standBy({
      ...this.#deps,
      onLook: (looks) => this.#follow(looks),
      refusal: () => signs.takeRefusal(),
      onJudged: (could) => status.judged(could),
      isFolded: () => this.#isFolded(),
    });
  }

  /**
   * The tags say how far they are. A standby folds up to the position that all of them have reached, so that it can take
   * over there (docs/rules.md#take-over).
   */
  #follow(looks: readonly TagLook[]): void {
    const { folding, identity, bounds, status } = this.#deps;
    const stored = looks.map(({ position }) => parseStoredPosition(position)).filter((each) => each !== null);
    for (const each of stored) assertSamePartitions(each, identity, bounds);
    const limit = nearest(stored.filter(({ log }) => log === identity));
    // A busy leader's position moves between any two looks: what the one before asked for counts as well.
    const isFolded = [this.#lastLimit, limit].some((each) => each !== null && !folding.isBehind(each));
    this.#lastLimit = limit;
    if (limit === null) {
      status.followed(stored.length > 0 ? 'of another log' : 'no views');
    } else {
      folding.limit = limit;
      status.followed(isFolded ? 'folded' : 'behind');
    }
  }

  /** Whether the log is folded as far as it may be. */
  async #isFolded(): Promise<boolean> {
    const { eventLog, folding, signal } = this.#deps;
    const { limit } = folding;
    if (limit === null || !folding.isBehind(limit)) return true;
    // A position that is beyond the log, after its topics were made anew, will never be reached.
    return !isWithin(limit, positionOf(await race(signal, eventLog.bounds()), 'end'));
  }

  /** Nothing is taken with an old look: a leader may not have been able to move its fences. */
  #takeAll(seen: readonly string[]): Promise<TakenTags | null> {
    const { clock, eventLog, leadership, log, signal, tags } = this.#deps;
    const take = async () => {
      // What another projector knows was judged unknown here, while this one stood by or was told to (docs/rules.md#kept-schemas).
      if (await eventLog.judgesAnew?.())
        throw new FoldAgainError('the schema of records that were set aside is known now');
      return takeAll(leadership, tags, seen);
    };
    return take().catch(async (cause: Error & { retry?: boolean }) => {
      if (cause.retry === false) throw cause;
      log.warn(`Cannot take over the views, standing by again: ${cause.message}`);
      await clock.sleep(beatMs, signal);
      return null;
    });
  }

  /** Leads term after term, until another projector leads or it is told to stop. */
  async #lead(first: TakenTags): Promise<'deposed' | 'stopped'> {
    const { leader, log } = this.#deps;
    for (let taken: TakenTags | null = first; taken; ) {
      const end = await leader.lead(taken);
      if (end === 'stopped') return end;
      log.warn(
        end === 'fenced'
          ? 'Another projector has taken over: standing by'
          : 'The view store lost or changed something: taking the lead again, to compare its views with the log',
      );
      taken = end === 'lost' ? await this.#takeAgain() : null;
    }
    return 'deposed';
  }

  /** After a loss: each tag from the fence that it has now. Those that are not as they were left are doubtful. */
  #takeAgain(): Promise<TakenTags | null> {
    const { leadership, tags } = this.#deps;
    const take = async () => {
      const seen = (await leadership.look(tags)).map(({ fence }) => fence);
      const doubtful = new Set(tags.filter((tag, i) => !leadership.isAsLeft(tag, seen[i]!)));
      return takeAll(leadership, tags, seen, (tag) => doubtful.has(tag));
    };
    return retryLogged('take the views again', take, this.#deps);
  }
}
