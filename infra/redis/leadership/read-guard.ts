import { Cluster, type Redis } from 'ioredis';
import { backgroundClock, type Clock } from '../../../projector/running/clock.ts';
import { Stop } from '../../../projector/running/stop.ts';
import { WakeUp } from '../../../projector/running/waiting.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { beating, otherFormats, redisKeys } from '../redis-keys.ts';
import { FailoverState, type StampLook } from './failover-state.ts';
import { type FormatLook, GenerationState } from './generation-state.ts';

// While something is unknown.
const lookMs = 100;
// While all is known.
const checkMs = 1_000;

/** What the guard asks of the Redis processes. */
interface GuardedMasters {
  /** The processes of all masters, as stamps name them. Rejects while the masters are not known. */
  processes(): Promise<readonly string[]>;
  /** A tag's fence and notes, all read at the same moment. `formats`: also which other view formats have a fence. */
  look(tag: number, formats: boolean): Promise<Omit<StampLook, 'nowMs'> & FormatLook>;
}

/**
 * Says whether reads may be answered from the views in a Redis (docs/rules.md#complete, #ready-api). A Redis may come back
 * as another process: after a crash, from an older snapshot, or as a promoted replica. It may have lost acknowledged writes,
 * and still look complete. So a tag is answered from once its leader has stamped it as complete in this very process, or
 * once no projector has run for long: then waiting brings nothing better. Before that, it must be known that the views of
 * our format may be served (GenerationState).
 */
export class ReadGuard {
  readonly #masters: GuardedMasters;
  readonly #clock: Clock;
  readonly #tags: readonly number[];
  readonly #state: FailoverState;
  /** Whether views of our format may be served, and why not. */
  readonly formats = new GenerationState();
  readonly #stop = new Stop();
  readonly #doubt = new WakeUp();

  /** `tags`: those that views are in. */
  constructor(masters: GuardedMasters, clock: Clock, tags: readonly number[] = allTags) {
    this.#masters = masters;
    this.#clock = clock;
    this.#tags = tags;
    this.#state = new FailoverState(tags);
    void this.#keepAsking();
  }

  /** Whether the views of these tags may be answered from now. */
  covers(tags: Iterable<number>): boolean {
    return this.#state.covers(tags);
  }

  /** Whether a tag's stamp, read together with what is absent, says that it is truly absent. */
  isComplete(tag: number, stamp: string): boolean {
    const complete = this.#state.isComplete(tag, stamp);
    if (!complete) this.#doubt.notify();
    return complete;
  }

  /** A connection was lost or made, or a node came or went. */
  connectionChanged(): void {
    this.#state.connectionChanged();
    this.#doubt.notify();
  }

  close(): void {
    this.#stop.end();
  }

  /**
   * Asks again soon while something is unknown, and else now and then: a replica may be promoted, or a master become a
   * replica and come back, without a lost connection.
   */
  async #keepAsking(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Redis may be away.
      await this.#ask().catch(() => undefined);
      const isKnown = this.#state.settled && this.formats.current;
      await this.#doubt.waitAtMost(isKnown ? checkMs : lookMs, this.#clock, signal);
    }
  }

  async #ask(): Promise<void> {
    const { connection } = this.#state;
    this.#state.identify(connection, await this.#masters.processes());
    const formats = !this.formats.current;
    const look = async (tag: number): Promise<FormatLook> => {
      const seen = await this.#masters.look(tag, formats);
      this.#state.look(connection, tag, { ...seen, nowMs: this.#clock.nowMs() });
      return seen;
    };
    const looks = await Promise.all((formats ? this.#tags : this.#state.unstamped).map(look));
    if (formats) this.formats.look(looks, this.#clock.nowMs());
  }
}

/** The guard of a client, over its connections and commands. */
export function redisReadGuard(client: Redis | Cluster, keyPrefix: string): ReadGuard {
  const keys = redisKeys(keyPrefix);
  const othersKeys = otherFormats.map((format) => redisKeys(keyPrefix, format));
  // Projectors that stand by write one sign of life, or in a cluster one for each tag.
  const signTag = (tag: number): number => (client instanceof Cluster ? tag : 0);
  const masters: GuardedMasters = {
    async processes() {
      // A cluster's masters are not known before.
      if (client.status !== 'ready') throw new Error('not connected');
      const all = client instanceof Cluster ? client.nodes('master') : [client];
      const processes = all.map((node) => processOf((section) => node.info(section)));
      return (await Promise.all(processes)).filter((process) => process !== null);
    },
    async look(tag, formats) {
      const own = [
        keys.fence(tag),
        keys.complete(tag),
        keys.coming(signTag(tag)),
        keys.led(tag),
        keys.fence(signTag(tag)),
      ];
      const fences = formats ? othersKeys.map((other) => other.fence(tag)) : [];
      // One command: all of one moment.
      const [fence, stamp, coming, led, first, ...found] = await client.mget(...own, ...fences);
      const others = otherFormats.filter((_, i) => typeof found[i] === 'string');
      return { fence: beating(fence!, first!), stamp: stamp!, coming: coming!, led: led!, others };
    },
  };
  const guard = new ReadGuard(masters, backgroundClock);
  const changed = (): void => guard.connectionChanged();
  const listen = (node: Redis): void => void node.on('close', changed).on('ready', changed);
  if (client instanceof Cluster) client.on('+node', listen).on('-node', changed);
  else listen(client);
  return guard;
}

/** A master's process, as the commit script names it; null for one that is a replica by now. */
export async function processOf(info: (section: string) => Promise<string>): Promise<string | null> {
  const [server, replication] = await Promise.all([info('server'), info('replication')]);
  if (!/^role:master/m.test(replication)) return null;
  return `${/run_id:(\w+)/.exec(server)![1]}:${/master_replid:(\w+)/.exec(replication)![1]}`;
}
