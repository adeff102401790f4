import { beatMs } from '../ports/leading.ts';
import type { Leadership } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import type { Status } from '../status/status.ts';

interface SignsOfLifeDeps {
  leadership: Pick<Leadership, 'coming' | 'unreadable'>;
  tags: readonly number[];
  clock: Clock;
  status: Pick<Status, 'now' | 'role'>;
}

/** Says in the store, beat after beat, that this projector is there. */
export class SignsOfLife {
  readonly #deps: SignsOfLifeDeps;
  #refusal: Error | null = null;

  constructor(deps: SignsOfLifeDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, leadership, status, tags } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(beatMs, signal);
      const sinceMs = status.now(null).unreadableSinceMs;
      // A leader's fences say that it is there. A standby's looks log a store that is away, or takes no writes.
      if (status.role === 'standby') {
        await leadership.coming(tags).catch((cause: Error) => {
          this.#refusal = cause;
        });
      } else await leadership.unreadable(sinceMs === null ? null : clock.nowMs() - sinceMs).catch(() => undefined);
    }
  }

  /** Why the store refused a sign since this was last asked. Null: it refused none. */
  takeRefusal(): Error | null {
    const refusal = this.#refusal;
    this.#refusal = null;
    return refusal;
  }
}
