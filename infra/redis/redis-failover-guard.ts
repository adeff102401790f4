import { Cluster, type Redis } from 'ioredis';
import { backgroundClock, type Clock } from '../../projector/ports/clock.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { FailoverState, type TagLook } from './failover-state.ts';
import type { RedisKeys } from './redis-keys.ts';

const lookMs = 100;
const checkMs = 1_000;

/** What the guard asks of the Redis processes. */
interface GuardedMasters {
  /** The processes of all masters, as stamps name them. Resolves to null while the masters are not known. */
  processes(): Promise<readonly string[] | null>;
  /** A tag's fence, `coming` and stamp: all of the same moment. */
  look(tag: number): Promise<Omit<TagLook, 'nowMs'>>;
}

/**
 * Says whether the views in a Redis may be answered from. A Redis that comes back as another process (after a crash,
 * from an older snapshot, or a promoted replica) may have lost acknowledged writes, and still look complete. So a tag is
 * answered from only once its leader has stamped it as complete in this very process, or once no projector has run for
 * long: then waiting brings nothing better. An API process that has just started believes no more than any other.
 */
export class FailoverGuard {
  readonly #masters: GuardedMasters;
  readonly #clock: Clock;
  readonly #state: FailoverState;
  readonly #stop = new AbortController();
  #settling = false;

  /** `tags`: those that views are in. */
  constructor(masters: GuardedMasters, clock: Clock, tags: readonly number[] = allTags) {
    this.#masters = masters;
    this.#clock = clock;
    this.#state = new FailoverState(tags);
    void this.#settle();
    void this.#checkNowAndThen();
  }

  /** Whether the views of these tags may be answered from now. */
  covers(tags: Iterable<number>): boolean {
    return this.#state.covers(tags);
  }

  /** Whether a tag's stamp, read together with what is absent, says that it is truly absent. */
  isComplete(tag: number, stamp: string): boolean {
    const complete = this.#state.isComplete(tag, stamp);
    if (!complete) void this.#settle();
    return complete;
  }

  /** A connection was lost or made, or a node came or went. */
  connectionChanged(): void {
    this.#state.connectionChanged();
    void this.#settle();
  }

  close(): void {
    this.#stop.abort();
  }

  /** A replica may be promoted, or a process become another's replica and come back, without a lost connection. */
  async #checkNowAndThen(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#clock.sleep(checkMs, signal);
      if (signal.aborted) return;
      if (this.#state.identified) await this.#identify().catch(() => undefined);
      await this.#look().catch(() => undefined);
      void this.#settle();
    }
  }

  async #settle(): Promise<void> {
    if (this.#settling) return;
    this.#settling = true;
    const { signal } = this.#stop;
    while (!signal.aborted && !this.#state.settled) {
      // Redis may be away: it is asked again soon.
      await this.#ask().catch(() => undefined);
      if (!this.#state.settled) await this.#clock.sleep(lookMs, signal);
    }
    this.#settling = false;
  }

  async #ask(): Promise<void> {
    if (!this.#state.identified) await this.#identify();
    await this.#look();
  }

  async #look(): Promise<void> {
    const { connection, unstamped } = this.#state;
    const look = async (tag: number) => {
      const seen = await this.#masters.look(tag);
      this.#state.look(connection, tag, { ...seen, nowMs: this.#clock.nowMs() });
    };
    await Promise.all(unstamped.map(look));
  }

  async #identify(): Promise<void> {
    const { connection } = this.#state;
    const processes = await this.#masters.processes();
    if (processes) this.#state.identify(connection, processes);
  }
}

/** The failover guard of a client, over its connections and commands. */
export function redisFailoverGuard(client: Redis | Cluster, keys: RedisKeys): FailoverGuard {
  const masters: GuardedMasters = {
    async processes() {
      // A cluster's masters are not known before.
      if (client.status !== 'ready') return null;
      const all = client instanceof Cluster ? client.nodes('master') : [client];
      return (await Promise.all(all.map(processOf))).filter((process) => process !== null);
    },
    async look(tag) {
      // One command: all of one moment.
      const [fence, stamp, coming] = await client.mget(keys.fence(tag), keys.complete(tag), keys.coming(tag));
      return { fence: fence!, stamp: stamp!, coming: coming! };
    },
  };
  const guard = new FailoverGuard(masters, backgroundClock);
  const changed = (): void => guard.connectionChanged();
  const watch = (node: Redis): void => void node.on('close', changed).on('ready', changed);
  if (client instanceof Cluster) client.on('+node', watch).on('-node', changed);
  else watch(client);
  return guard;
}

/** A master's process, as the commit script names it; null for one that is a replica by now. */
async function processOf(node: Redis): Promise<string | null> {
  const [server, replication] = await Promise.all([node.info('server'), node.info('replication')]);
  if (!/^role:master/m.test(replication)) return null;
  return `${/run_id:(\w+)/.exec(server)?.[1]}:${/master_replid:(\w+)/.exec(replication)?.[1]}`;
}
