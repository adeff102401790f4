import { beatMs } from '../ports/leading.ts';
import type { Leadership } from '../ports/view-writer.ts';
import { type RetryDeps, retryLogged } from '../ports/waiting.ts';
import type { Leader } from './leader.ts';
import type { SignsOfLife } from './signs-of-life.ts';
import { standBy, type TakenTags, takeAll } from './standby.ts';
import { StandbyFold, type StandbyFoldDeps } from './standby-fold.ts';

interface TermsDeps extends RetryDeps, StandbyFoldDeps {
  leadership: Leadership;
  tags: readonly number[];
  leader: Leader;
  signs: SignsOfLife;
  signal: AbortSignal;
}

/** Stands by, leads, and stands by again, until told to stop. */
export class Terms {
  readonly #deps: TermsDeps;

  constructor(deps: TermsDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { folding, signal, status } = this.#deps;
    let fold = new StandbyFold(this.#deps);
    while (!signal.aborted) {
      const seen = await this.#standBy(fold);
      if (seen === null) return;
      const taken = await this.#takeAll(seen);
      if (taken === null) continue;
      status.stand('leader');
      if ((await this.#lead(taken)) === 'stopped') return;
      // docs/rules.md#rejected
      folding.intake.endPublishing();
      status.stand('standby');
      fold = new StandbyFold(this.#deps);
    }
  }

  /** Resolves to the fences that may be taken. */
  #standBy(fold: StandbyFold): Promise<readonly string[] | null> {
    const { signs, status } = this.#deps;
    return standBy({
      ...this.#deps,
      onLook: (looks) => fold.follow(looks),
      refusal: () => signs.takeRefusal(),
      onJudged: (could) => status.judged(could),
      isFolded: () => fold.isFolded(),
    });
  }

  /** Nothing is taken with an old look: a leader may not have been able to move its fences. */
  #takeAll(seen: readonly string[]): Promise<TakenTags | null> {
    const { clock, leadership, log, signal, tags } = this.#deps;
    return takeAll(leadership, tags, seen).catch(async (cause: Error & { retry?: boolean }) => {
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
