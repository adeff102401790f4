import type { Folding } from '../intake/folding.ts';
import { type EventLog, FoldAgainError, type LogBounds, type Position } from '../ports/event-log.ts';
import { beatMs } from '../ports/leading.ts';
import type { Leadership, TagLook } from '../ports/view-writer.ts';
import { assertSamePartitions, isWithin, positionOf, reachedByAll } from '../position/position.ts';
import { parseStoredPosition } from '../position/settled-position.ts';
import { race } from '../running/stop.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import type { Life, TermEnd } from './life.ts';
import type { SignsOfLife } from './signs-of-life.ts';
import { standBy, type TakenTags, takeAll } from './standby.ts';

interface TermsDeps extends RetryDeps {
  eventLog: Pick<EventLog, 'bounds' | 'judgesAnew'>;
  leadership: Pick<Leadership, 'look' | 'isFree' | 'take' | 'free' | 'isAsLeft'>;
  tags: readonly number[];
  folding: Pick<Folding, 'limit' | 'isBehind'> & { intake: { aside: { end(): void } } };
  life: Life;
  /** Leads for one term, with the tags that it has taken. */
  lead(taken: TakenTags): Promise<TermEnd>;
  signs: Pick<SignsOfLife, 'takeRefusal'>;
  status: Pick<Status, 'followed' | 'judged'>;
  bounds: LogBounds;
  /** Which log it is; null where that is not known. */
  identity: string | null;
}

/** Goes through the life of its terms (life.ts), until told to stop. */
export class Terms {
  readonly #deps: TermsDeps;
  /** Up to where the last look let it fold. */
  #lastLimit: Position | null = null;

  constructor(deps: TermsDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { signal } = this.#deps;
    while (!signal.aborted) {
      const seen = await this.#standBy();
      const taken = seen && (await this.#take(seen));
      if (taken && !(await this.#lead(taken))) return;
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
    const limit = reachedByAll(stored.filter(({ log }) => log === identity));
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
  async #take(seen: readonly string[]): Promise<TakenTags | null> {
    const { clock, eventLog, leadership, life, log, signal, tags } = this.#deps;
    life.to('take');
    try {
      // What another projector knows was judged unknown here, while this one stood by or was told to (docs/rules.md#kept-schemas).
      if (await eventLog.judgesAnew?.()) throw new FoldAgainError('the schema of rejected records is known now');
      const taken = await takeAll(leadership, tags, seen);
      if (taken) return taken;
    } catch (cause) {
      const { message, retry } = cause as Error & { retry?: boolean };
      if (retry === false) throw cause;
      log.warn(`Cannot take over the views, standing by again: ${message}`);
      await clock.sleep(beatMs, signal);
    }
    life.to('stand by');
    return null;
  }

  /** Leads term after term. True once another projector leads; false when told to stop. */
  async #lead(first: TakenTags): Promise<boolean> {
    const { folding, lead, life, log } = this.#deps;
    for (let taken: TakenTags | null = first; taken; ) {
      const end = await lead(taken);
      if (end === 'free' || end === 'ended') return false;
      log.warn(
        end === 'fenced'
          ? 'Another projector has taken over: standing by'
          : 'The view store lost or changed something: taking the lead again, to compare its views with the log',
      );
      taken = end === 'lost' ? await this.#takeAgain() : null;
    }
    // docs/rules.md#rejected
    folding.intake.aside.end();
    this.#lastLimit = null;
    life.to('stand by');
    return true;
  }

  /** After a loss: those that are not as they were left are doubtful. */
  #takeAgain(): Promise<TakenTags | null> {
    const { leadership, life, tags } = this.#deps;
    life.to('take again');
    const take = async () => {
      const seen = (await leadership.look(tags)).map(({ fence }) => fence);
      const doubtful = new Set(tags.filter((tag, i) => !leadership.isAsLeft(tag, seen[i]!)));
      return takeAll(leadership, tags, seen, (tag) => doubtful.has(tag));
    };
    return retryLogged('take the views again', take, this.#deps);
  }
}
