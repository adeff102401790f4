import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { allTags, completeKey } from '../../schemas/views/view-keys.ts';
import type { RedisKeys } from './redis-keys.ts';

// Three times as long as a projector needs to find its connection again: after that there is none.
const silenceMaxMs = 10_000;
const lookMs = 100;
const identityCheckMs = 1_000;

interface Doubt {
  /** The fence as last seen; null: none. Undefined: not looked at yet. */
  fence: string | null | undefined;
  /** Whether it moved since the doubt began: a projector writes to this Redis. */
  moved: boolean;
  sinceMs: number;
}

/**
 * Whether the views in a Redis may be answered from. A Redis that came back as another process (after a crash, from an
 * older snapshot, a replica that took over) may have lost what it had acknowledged, and looks complete all the same. So
 * each tag of it is in doubt until its fence has moved, which says that the projector found it as it had left it or has
 * taken back the word that it is complete, and it is complete; or until nobody has moved it for long: without a
 * projector nothing better will come.
 */
export class RedisTrust {
  readonly #client: Redis | Cluster;
  readonly #keys: RedisKeys;
  readonly #doubts = new Map<number, Doubt>();
  readonly #stop = new AbortController();
  /** Which Redis processes were there when last asked; null: not asked yet. */
  #known: Set<string> | null = null;
  #sure = false;
  #changes = 0;
  #settling = false;

  constructor(client: Redis | Cluster, keys: RedisKeys) {
    this.#client = client;
    this.#keys = keys;
    if (client instanceof Cluster) {
      client.on('+node', (node: Redis) => this.#watch(node));
      client.on('-node', () => this.#unsure());
      void this.#checkNowAndThen();
    } else this.#watch(client);
    this.#unsure();
  }

  /** Whether the views of these tags may be answered from now. */
  covers(tags: Iterable<number>): boolean {
    if (!this.#sure) return false;
    if (this.#doubts.size > 0) for (const tag of tags) if (this.#doubts.has(tag)) return false;
    return true;
  }

  close(): void {
    this.#stop.abort();
  }

  #watch(node: Redis): void {
    node.on('close', () => this.#unsure());
    node.on('ready', () => this.#unsure());
  }

  #unsure(): void {
    this.#changes++;
    this.#sure = false;
    void this.#settle();
  }

  /** A replica may take over without a connection of ours being lost. */
  async #checkNowAndThen(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#pause(identityCheckMs);
      if (this.#sure) await this.#identify().catch(() => undefined);
      void this.#settle();
    }
  }

  async #settle(): Promise<void> {
    if (this.#settling) return;
    this.#settling = true;
    while (!this.#stop.signal.aborted && (!this.#sure || this.#doubts.size > 0)) {
      try {
        if (!this.#sure) await this.#identify();
        if (this.#doubts.size > 0) await this.#look();
      } catch {
        // Away: asked again soon.
      }
      if (!this.#sure || this.#doubts.size > 0) await this.#pause(lookMs);
    }
    this.#settling = false;
  }

  async #identify(): Promise<void> {
    const changes = this.#changes;
    // A cluster's masters are not known before.
    if (this.#client.status !== 'ready') return;
    const masters = this.#client instanceof Cluster ? this.#client.nodes('master') : [this.#client];
    const runIds = await Promise.all(masters.map((master) => this.#runIdOf(master)));
    if (changes !== this.#changes) return;
    if (this.#known && runIds.some((runId) => !this.#known!.has(runId))) {
      for (const tag of allTags) this.#doubts.set(tag, { fence: undefined, moved: false, sinceMs: 0 });
    }
    this.#known = new Set(runIds);
    this.#sure = true;
  }

  async #runIdOf(master: Redis): Promise<string> {
    // A Redis that doesn't tell is another one after each connection.
    const unknown = `unknown-${this.#changes}`;
    try {
      return /run_id:(\S+)/.exec(await master.info('server'))?.[1] ?? unknown;
    } catch (cause) {
      if (/^NOPERM/.test((cause as Error).message)) return unknown;
      throw cause;
    }
  }

  async #look(): Promise<void> {
    const nowMs = performance.now();
    await Promise.all(
      [...this.#doubts].map(async ([tag, doubt]) => {
        // Both at once: a fence that moved and an older word of completeness must not be taken together.
        const [fence, complete] = await this.#client.mget(this.#keys.fence(tag), this.#keys.toRedis(completeKey(tag)));
        if (doubt.fence === undefined || fence !== doubt.fence) {
          doubt.moved = doubt.fence !== undefined;
          doubt.fence = fence!;
          doubt.sinceMs = nowMs;
        }
        if ((doubt.moved && complete !== null) || nowMs - doubt.sinceMs > silenceMaxMs) this.#doubts.delete(tag);
      }),
    );
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal, ref: false }).catch(() => undefined);
  }
}
