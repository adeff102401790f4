import type { LogStatus } from '../ports/event-log.ts';
import type { Clock } from '../running/clock.ts';
import type { Log } from '../running/log.ts';

/** What a projector may wait for. These are labels of a metric. */
export const waitReasons = ['kafka', 'redis', 'registry', 'transaction', 'rejects', 'leader'] as const;
export type WaitReason = (typeof waitReasons)[number];

interface Wait {
  sinceMs: number;
  /** Why the last attempt failed that has. Null: none has. */
  cause: Error | null;
}

// What is answered sooner is not waited for.
export const promptMs = 500;
const lastingMs = 2_000;
const tellEveryMs = 500;
// On a busy machine this may be late. It is this late only if the process did not run at all.
const stoodStillMs = 2_000;

const words: Record<WaitReason, { begins: string; ends: string }> = {
  kafka: { begins: 'Kafka, which does not answer or lacks topics: changes are not read', ends: 'Kafka answers again' },
  redis: {
    begins: 'the view store, which does not answer, answers late or takes no writes: changes are not readable, or late',
    ends: 'The view store answers again',
  },
  registry: {
    begins: 'the schema registry: partitions whose schemas it has are not read on',
    ends: 'The schema registry answers again',
  },
  transaction: {
    begins: 'a producer to end its transaction: what follows it is hidden',
    ends: 'The open transaction has ended',
  },
  rejects: {
    begins: 'the topic of rejected records: the position does not move on',
    ends: 'Rejected records are copied again',
  },
  leader: { begins: 'the leader to go: this projector stands by', ends: 'Standing by has ended' },
};

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

interface WaitsDeps {
  clock: Clock;
  log: Log;
  logStatus(): LogStatus | null;
}

/**
 * The list of what a projector waits for. A wait begins with an attempt and ends when one succeeds, however many fail
 * between. Logs a wait that lasts, once, and its end, and also when the process itself stood still.
 */
export class Waits {
  readonly #deps: WaitsDeps;
  /** By reason, then by what exactly is waited for. */
  readonly #begun = new Map<WaitReason, Map<string, Wait>>(waitReasons.map((reason) => [reason, new Map()]));
  readonly #told = new Map<WaitReason, number>();

  constructor(deps: WaitsDeps) {
    this.#deps = deps;
  }

  /** Unless it has begun already. `cause`: why an attempt failed. */
  begin(reason: WaitReason, what = '', cause: Error | null = null): void {
    const waits = this.#begun.get(reason)!;
    const before = waits.get(what) ?? { sinceMs: this.#deps.clock.nowMs(), cause: null };
    waits.set(what, { ...before, ...(cause && { cause }) });
  }

  /** `what`: absent for all that is waited for. */
  end(reason: WaitReason, what?: string): void {
    const waits = this.#begun.get(reason)!;
    if (what === undefined) waits.clear();
    else waits.delete(what);
  }

  /** Why attempts have failed that it waits for. */
  causes(reason: WaitReason): Error[] {
    return [...this.#begun.get(reason)!.values()].flatMap(({ cause }) => cause ?? []);
  }

  /** What it waits for now, and since when. */
  current(): Map<WaitReason, number> {
    const current = new Map<WaitReason, number>();
    const add = (reason: WaitReason, sinceMs: number): void =>
      void current.set(reason, Math.min(sinceMs, current.get(reason) ?? sinceMs));
    const nowMs = this.#deps.clock.nowMs();
    const addLasting = (reason: WaitReason, sinceMs: number): void => {
      if (nowMs - sinceMs >= promptMs) add(reason, sinceMs);
    };
    for (const [reason, waits] of this.#begun) {
      for (const { sinceMs } of waits.values()) addLasting(reason, sinceMs);
    }
    const { silentSinceMs = null, partitions = [] } = this.#deps.logStatus() ?? {};
    if (silentSinceMs !== null) add('kafka', silentSinceMs);
    for (const { waits } of partitions) if (waits !== null) addLasting(waits.for, waits.sinceMs);
    return current;
  }

  /**
   * What it waits for whose wait lasts, but for what else tells of it, in words that everybody may read. By the wall clock, as
   * those who read it have it.
   */
  words(told: readonly WaitReason[]): string[] {
    const { clock } = this.#deps;
    const nowMs = clock.nowMs();
    const lasting = [...this.current()].filter(
      ([reason, sinceMs]) => !told.includes(reason) && nowMs - sinceMs >= lastingMs,
    );
    return lasting.map(([reason, sinceMs]) => {
      const since = new Date(clock.wallMs() - (nowMs - sinceMs)).toISOString();
      return `since ${since.slice(0, 19)}Z it has waited for ${words[reason].begins}`;
    });
  }

  /** Logs waits until told to stop. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    let beforeMs = clock.nowMs();
    while (!signal.aborted) {
      await clock.sleep(tellEveryMs, signal);
      if (signal.aborted) return;
      const nowMs = clock.nowMs();
      const stoodMs = nowMs - beforeMs - tellEveryMs;
      beforeMs = nowMs;
      // After a standstill, responses that came meanwhile are read first.
      if (stoodMs < stoodStillMs) this.tell();
      else log.warn(`This process stood still for ${seconds(stoodMs)}: stopped, or without a processor`);
    }
  }

  /** Logs each wait that lasts now, and each that has ended since. */
  tell(): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.nowMs();
    const current = this.current();
    for (const reason of waitReasons) {
      const sinceMs = current.get(reason);
      const toldMs = this.#told.get(reason);
      if (sinceMs === undefined && toldMs !== undefined) {
        this.#told.delete(reason);
        log.info(`${words[reason].ends}, after ${seconds(nowMs - toldMs)}`);
      } else if (sinceMs !== undefined && toldMs === undefined && nowMs - sinceMs >= lastingMs) {
        this.#told.set(reason, sinceMs);
        const [cause] = this.causes(reason);
        const why = cause ? ` (${cause.message})` : '';
        const message = `Waiting for ${seconds(nowMs - sinceMs)} for ${words[reason].begins}${why}`;
        // Waiting is normal for a standby.
        if (reason === 'leader') log.info(message);
        else log.warn(message);
      }
    }
  }
}
