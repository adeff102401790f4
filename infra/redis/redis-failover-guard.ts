import { Cluster, type Redis } from 'ioredis';
import { backgroundClock, type Clock } from '../../projector/ports/clock.ts';
import { allTags, completeKey } from '../../schemas/views/view-keys.ts';
import { FailoverState } from './failover-state.ts';
import type { RedisKeys } from './redis-keys.ts';

const lookMs = 100;
const identityCheckMs = 1_000;

/** What the guard asks the Redis processes. */
export interface GuardedMasters {
  /** The run ids of all masters, null for one that does not tell. Resolves to null while the masters are not known. */
  runIds(): Promise<(string | null)[] | null>;
  /** A tag's fence, and whether the tag is complete, read at the same moment. */
  look(tag: number): Promise<{ fence: string | null; complete: boolean }>;
  /** Whether another process may take over without a lost connection, as in a cluster. */
  mayChangeUnseen: boolean;
}

/**
 * Says whether the views in a Redis may be read.
 *
 * A Redis that comes back as another process (after a crash, from an older snapshot, or as a promoted replica) may have
 * lost acknowledged writes and still look complete. So each of its tags is in question until one of these is seen:
 *
 * - Its fence has moved and it is complete. So the projector found the tag as it left it, or has repaired it.
 *
 * - Its fence has not moved for long. So no projector is running, and waiting does not help.
 */
export class FailoverGuard {
  readonly #masters: GuardedMasters;
  readonly #clock: Clock;
  readonly #state = new FailoverState(allTags);
  readonly #stop = new AbortController();
  #settling = false;

  constructor(masters: GuardedMasters, clock: Clock) {
    this.#masters = masters;
    this.#clock = clock;
    void this.#settle();
    if (masters.mayChangeUnseen) void this.#identifyNowAndThen();
  }

  /** Whether the views of these tags may be read now. */
  covers(tags: Iterable<number>): boolean {
    return this.#state.covers(tags);
  }

  /** A connection was lost or made, or a node was added or removed. */
  connectionChanged(): void {
    this.#state.connectionChanged();
    void this.#settle();
  }

  close(): void {
    this.#stop.abort();
  }

  async #identifyNowAndThen(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#clock.sleep(identityCheckMs, signal);
      if (this.#state.identified) await this.#identify().catch(() => undefined);
      void this.#settle();
    }
  }

  async #settle(): Promise<void> {
    if (this.#settling) return;
    this.#settling = true;
    const { signal } = this.#stop;
    while (!signal.aborted && !this.#state.settled) {
      // Redis may be away. It is asked again soon.
      await this.#ask().catch(() => undefined);
      if (!this.#state.settled) await this.#clock.sleep(lookMs, signal);
    }
    this.#settling = false;
  }

  async #ask(): Promise<void> {
    if (!this.#state.identified) await this.#identify();
    const nowMs = this.#clock.nowMs();
    const look = async (tag: number) => this.#state.look(tag, { ...(await this.#masters.look(tag)), nowMs });
    await Promise.all(this.#state.inQuestion.map(look));
  }

  async #identify(): Promise<void> {
    const { connection } = this.#state;
    const runIds = await this.#masters.runIds();
    if (runIds) this.#state.identify(connection, runIds);
  }
}

/** The failover guard of a client: uses its connections and commands. */
export function redisFailoverGuard(
  client: Redis | Cluster,
  keys: RedisKeys,
  clock: Clock = backgroundClock,
): FailoverGuard {
  const masters: GuardedMasters = {
    mayChangeUnseen: client instanceof Cluster,
    async runIds() {
      // A cluster's masters are not known before this.
      if (client.status !== 'ready') return null;
      return Promise.all((client instanceof Cluster ? client.nodes('master') : [client]).map(runIdOf));
    },
    async look(tag) {
      // One command, so that a fence that moved is not combined with an older completeness.
      const [fence, complete] = await client.mget(keys.fence(tag), keys.toRedis(completeKey(tag)));
      return { fence: fence!, complete: complete !== null };
    },
  };
  const guard = new FailoverGuard(masters, clock);
  const changed = (): void => guard.connectionChanged();
  const watch = (node: Redis): void => void node.on('close', changed).on('ready', changed);
  if (client instanceof Cluster) client.on('+node', watch).on('-node', changed);
  else watch(client);
  return guard;
}

async function runIdOf(master: Redis): Promise<string | null> {
  try {
    return /run_id:(\S+)/.exec(await master.info('server'))?.[1] ?? null;
  } catch (cause) {
    if (/^NOPERM/.test((cause as Error).message)) return null;
    throw cause;
  }
}
