import type { ViewReader } from '../../../api/ports/view-reader.ts';
import type { Arg, RedisConnection } from '../../../infra/redis/redis-connection.ts';
import { parseFence, redisKeys } from '../../../infra/redis/redis-keys.ts';
import { guardedReads } from '../../../infra/redis/views/guarded-reads.ts';
import { viewWriterOver } from '../../../infra/redis/views/redis-view-writer.ts';
import { liveViewsOver } from '../../../infra/redis/views/stored-views.ts';
import type { LiveViews } from '../../../projector/ports/live-views.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { RedisInMemory } from '../../simulator/redis-in-memory.ts';

/** Redis's adapters over a Redis in memory, at once and without a network: a store for several projectors. */
export class SharedStore {
  readonly redis = new RedisInMemory(Date.now);
  readonly keys = redisKeys('');
  readonly connection: RedisConnection;
  #owners = 0;

  constructor() {
    const command = async (args: readonly Arg[]): Promise<unknown> => this.redis.command(args);
    this.connection = {
      isCluster: false,
      command: (_, args) => command(args),
      masters: async () => [command],
      close: async () => {},
    };
  }

  writer(): ViewWriter {
    return viewWriterOver(this.connection, this.keys, `owner${++this.#owners}`);
  }

  live(): LiveViews {
    return liveViewsOver(this.connection, this.keys);
  }

  reader(): Pick<ViewReader, 'get' | 'fields' | 'ready'> {
    const ask = async (...args: string[]) => this.redis.command(args) as (Buffer | null)[];
    const { get, fields, areComplete } = guardedReads({
      commands: {
        get: (views) => ask('MGET', ...views.map((view) => this.keys.toRedis(view))),
        again: async () => [],
        fields: (view, names) => ask('HMGET', this.keys.toRedis(view), ...names),
      },
      guard: {
        covers: () => true,
        isComplete: (_, stamp) => stamp === this.redis.process,
        formats: { current: true, reason: null },
      },
      isCluster: false,
    });
    return {
      get,
      fields,
      ready: async () => ((await areComplete(allTags)) ? { ready: true } : { ready: false, reason: 'not complete' }),
    };
  }

  /** Another process holds the store now, with what it held. */
  restart(process: string): void {
    this.redis.restart(this.redis.snapshot, { runId: process, replicationId: process });
  }

  position(tag: number): string | null {
    return this.#text(this.keys.position(tag)) || null;
  }

  isFree(tag: number): boolean {
    return parseFence(this.#text(this.keys.fence(tag))).state === 'free';
  }

  /** Whether a tag's open list says that its views must be compared. */
  isDoubtful(tag: number): boolean {
    const list = this.redis.keys.get(this.keys.open(tag));
    return list instanceof Map && list.has('compare');
  }

  #text(key: string): string {
    return String(this.redis.command(['GET', key]) ?? '');
  }
}
