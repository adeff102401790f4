import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

/** What a projector may wait for. These are labels of a metric. */
export const waitReasons = ['kafka', 'redis', 'registry', 'transaction', 'rejects', 'leader'] as const;
export type WaitReason = (typeof waitReasons)[number];

/** For each reason, since when it waits, in milliseconds since the epoch. Null: it does not. */
type WaitSources = Record<WaitReason, () => number | null>;

/** `lasting`: the wait has been logged. */
type Wait = { at: 'flowing' } | { at: 'waiting'; sinceMs: number } | { at: 'lasting'; sinceMs: number };

/** What a look at a wait found. */
interface Look {
  sinceMs: number | null;
  nowMs: number;
}

type Transitions = { [At in Wait['at']]: (wait: Extract<Wait, { at: At }>, look: Look) => Wait };

const lastingMs = 2_000;
const lookMs = 500;
// On a busy machine a look may be late. It is this late only if the process did not run at all.
const stoodStillMs = 2_000;

const flowing: Wait = { at: 'flowing' };
const transitions: Transitions = {
  flowing: (_, { sinceMs, nowMs }) => (sinceMs === null ? flowing : waiting(sinceMs, nowMs)),
  waiting: (_, { sinceMs, nowMs }) => (sinceMs === null ? flowing : waiting(sinceMs, nowMs)),
  // It began when it was first seen, whatever the process waits for now.
  lasting: (wait, { sinceMs }) => (sinceMs === null ? flowing : wait),
};

function waiting(sinceMs: number, nowMs: number): Wait {
  return { at: nowMs - sinceMs >= lastingMs ? 'lasting' : 'waiting', sinceMs };
}

/** The wait after a look at it. */
export function lookedAt(wait: Wait, look: Look): Wait {
  const transition = transitions[wait.at] as (wait: Wait, look: Look) => Wait;
  return transition(wait, look);
}

const words: Record<WaitReason, { begins: string; ends: string }> = {
  kafka: { begins: 'Kafka, which does not answer: changes are not read', ends: 'Kafka answers again' },
  redis: {
    begins: 'the view store, which does not answer or takes no writes: changes are not readable',
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
    ends: 'Rejected records are published again',
  },
  leader: { begins: 'the leader to go: this projector stands by', ends: 'Standing by has ended' },
};

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/**
 * Checks regularly what the projector waits for. Logs a wait that lasts once, and its end, and also when the process
 * itself stood still.
 */
export class Waits {
  readonly #sources: WaitSources;
  readonly #deps: { clock: Clock; log: Log };
  readonly #waits = new Map<WaitReason, Wait>();

  constructor(sources: WaitSources, deps: { clock: Clock; log: Log }) {
    this.#sources = sources;
    this.#deps = deps;
  }

  /** What it waits for now, and since when. */
  current(): Map<WaitReason, number> {
    const found = waitReasons.map((reason) => [reason, this.#sources[reason]()] as const);
    return new Map(found.filter((pair): pair is readonly [WaitReason, number] => pair[1] !== null));
  }

  async watch(signal: AbortSignal): Promise<void> {
    let lookedMs = this.#deps.clock.nowMs();
    while (!signal.aborted) {
      await this.#deps.clock.sleep(lookMs, signal);
      if (signal.aborted) return;
      const nowMs = this.#deps.clock.nowMs();
      const stoodMs = nowMs - lookedMs - lookMs;
      lookedMs = nowMs;
      // After a standstill, responses that came meanwhile are read first.
      if (stoodMs < stoodStillMs) this.look();
      else this.#deps.log.warn(`This process stood still for ${seconds(stoodMs)}: stopped, or without a processor`);
    }
  }

  look(): void {
    const nowMs = this.#deps.clock.nowMs();
    for (const reason of waitReasons) {
      const before = this.#waits.get(reason) ?? flowing;
      const after = lookedAt(before, { sinceMs: this.#sources[reason](), nowMs });
      this.#waits.set(reason, after);
      if (before.at !== after.at) this.#tell(reason, before, after, nowMs);
    }
  }

  #tell(reason: WaitReason, before: Wait, after: Wait, nowMs: number): void {
    const { begins, ends } = words[reason];
    if (after.at === 'lasting') {
      const message = `Waiting for ${seconds(nowMs - after.sinceMs)} for ${begins}`;
      // Waiting is normal for a standby.
      if (reason === 'leader') this.#deps.log.info(message);
      else this.#deps.log.warn(message);
    } else if (before.at === 'lasting') this.#deps.log.info(`${ends}, after ${seconds(nowMs - before.sinceMs)}`);
  }
}
