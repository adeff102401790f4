import { publicKinds, type ViewKind } from '../../schemas/views/view-keys.ts';

const publicKindSet = new Set<string>(publicKinds);
/** Every view is stored under its generation. There is one for now. */
export const generation = 'g1';

/**
 * View keys as Redis keys: `<prefix>pub:{v17}:g1:day:portland/2015-06-13`. The hash tag keeps a tag's keys in one slot
 * of a Redis Cluster. API processes hear changes of `pub:` keys. `me:` is the riders' own layer.
 */
export function redisKeys(prefix: string) {
  return {
    /** The prefix of all our keys. */
    prefix,
    /** The prefix of keys whose changes API processes hear. */
    publicPrefix: `${prefix}pub:`,
    /** The Redis key of a view. */
    of(tag: number, kind: ViewKind, id: string): string {
      return `${prefix}${publicKindSet.has(kind) ? 'pub' : 'me'}:{v${tag}}:${generation}:${kind}:${id}`;
    },
    /** The Redis key of a view's key. */
    toRedis(key: string): string {
      const bar = key.indexOf('|');
      const kind = key.slice(bar + 1, key.indexOf(':', bar)) as ViewKind;
      return `${prefix}${publicKindSet.has(kind) ? 'pub' : 'me'}:{v${key.slice(0, bar)}}:${generation}:${key.slice(bar + 1)}`;
    },
    /** The view of a Redis key. Null if the key is not a view of this generation. */
    viewOf(redisKey: string): { tag: number; kind: ViewKind; id: string } | null {
      const match = redisKey.startsWith(prefix) ? viewPattern.exec(redisKey.slice(prefix.length)) : null;
      if (!match || match[2] !== generation) return null;
      return { tag: Number(match[1]), kind: match[3] as ViewKind, id: match[4]! };
    },
    /** The view key of a Redis key. Null if the key is not a view of this generation. */
    fromRedis(redisKey: string): string | null {
      const view = this.viewOf(redisKey);
      return view && `${view.tag}|${view.kind}:${view.id}`;
    },
    fence: (tag: number): string => `${prefix}pub:{v${tag}}:fence`,
    /** The tag whose fence this Redis key is, or -1. */
    fenceTag(redisKey: string): number {
      const match = redisKey.startsWith(prefix) ? fencePattern.exec(redisKey.slice(prefix.length)) : null;
      return match ? Number(match[1]) : -1;
    },
  };
}

const viewPattern = /^(?:pub|me):\{v(\d+)\}:(g\d+):([a-z]+):(.*)$/s;
const fencePattern = /^pub:\{v(\d+)\}:fence$/;

export type RedisKeys = ReturnType<typeof redisKeys>;
