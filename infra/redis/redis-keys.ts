import { isFree } from '../../projector/ports/leading.ts';
import type { StoredName } from '../../projector/ports/view-writer.ts';
import { allTags, tagOf, viewFormat } from '../../schemas/views/view-keys.ts';
import { factKinds, parseKey, publicKinds, type ViewKind } from '../../schemas/views/view-kinds.ts';

const publicKindSet = new Set<string>(publicKinds);
const viewKinds = new Set<string>([...factKinds, 'reader']);
/** All keys of one view format. */
export const generation = `g${viewFormat}`;
// View formats up to this number are looked for beside our own.
const formatsMax = 99;
export const otherFormats = Array.from({ length: formatsMax }, (_, i) => i + 1).filter(
  (format) => format !== viewFormat,
);

/**
 * View keys as Redis keys: `<prefix>g5:pub:{v21}:day:portland/2015-06-13`. A generation is a view format: all its keys
 * begin alike, fences and positions too. The hash tag keeps a tag's keys in one slot of a Redis Cluster. API processes
 * hear changes of `pub:` keys. `me:` is the riders' own layer. `tag:` keys are notes that projectors leave one another.
 */
export function redisKeys(keyPrefix: string, format: number = viewFormat) {
  const prefix = `${keyPrefix}g${format}:`;
  const note = (name: string) => (tag: number) => `${prefix}tag:{v${tag}}:${name}`;
  return {
    /** The prefix of all keys of this generation. */
    prefix,
    /** The prefix of keys whose changes API processes hear. */
    publicPrefix: `${prefix}pub:`,
    of(tag: number, kind: StoredName['kind'], id: string): string {
      if (kind === 'foreign') return prefix + id;
      return `${prefix}${publicKindSet.has(kind) ? 'pub' : 'me'}:{v${tag}}:${kind}:${id}`;
    },
    toRedis(key: string): string {
      const { tag, kind, id } = parseKey(key);
      return this.of(tag, kind, id);
    },
    /** The view of a Redis key. Null if the key is not a view of this generation. */
    viewOf(redisKey: string): { tag: number; kind: ViewKind; id: string } | null {
      const match = redisKey.startsWith(prefix) ? viewPattern.exec(redisKey.slice(prefix.length)) : null;
      return match && { tag: Number(match[1]), kind: match[2] as ViewKind, id: match[3]! };
    },
    /**
     * What a key of this generation is. A view: its name. A note of projectors: null. Any other should not exist: `foreign`,
     * with tag -1 where it is in no tag, so that no projector removes it.
     */
    placeOf(redisKey: string): StoredName | null {
      const view = this.viewOf(redisKey);
      if (view && viewKinds.has(view.kind) && this.of(tagOf(view.id), view.kind, view.id) === redisKey) return view;
      const id = redisKey.slice(prefix.length);
      const tag = Number(/^[^{]*\{v(\d+)\}/.exec(id)?.[1] ?? -1);
      if (!allTags.includes(tag)) return { tag: -1, kind: 'foreign', id };
      const ofTags = [this.fence, this.complete, this.position, this.open, this.coming, this.led];
      const isNote = [...ofTags, this.unreadable, this.asked].some((note) => note(tag) === redisKey);
      return isNote ? null : { tag, kind: 'foreign', id };
    },
    /** The view key of a Redis key. Null if the key is not a view of this generation. */
    fromRedis(redisKey: string): string | null {
      const view = this.viewOf(redisKey);
      return view && `${view.tag}|${view.kind}:${view.id}`;
    },
    /** A public key: its moves come as invalidation messages, by which API processes know that they hear changes. */
    fence: (tag: number): string => `${prefix}pub:{v${tag}}:fence`,
    /** The stamp: the Redis process that the tag is complete in (docs/rules.md#complete). */
    complete: (tag: number): string => `${prefix}pub:{v${tag}}:complete:`,
    position: note('position'),
    open: note('open'),
    /** The sign of life of a projector that stands by. */
    coming: note('coming'),
    /** The owner of the fence, once it has led the tag to the log's ends. */
    led: note('led'),
    /** How old the oldest change is that is not readable, in milliseconds; empty: all are. Of no tag in particular. */
    unreadable: (): string => note('unreadable')(0),
    /** Another text each time that an open list was made to say `compare` from outside: a beat reads no lists. Of no tag in particular. */
    asked: (): string => note('asked')(0),
    /** Writers' schemas, of every view format (docs/rules.md#kept-schemas). */
    schemas: `${keyPrefix}schemas`,
    /** The tag whose fence this Redis key is, or -1. */
    fenceTag(redisKey: string): number {
      const match = redisKey.startsWith(prefix) ? fencePattern.exec(redisKey.slice(prefix.length)) : null;
      return match ? Number(match[1]) : -1;
    },
  };
}

const viewPattern = /^(?:pub|me):\{v(\d+)\}:([a-z]+):(.*)$/s;
const fencePattern = /^pub:\{v(\d+)\}:fence$/;

export type RedisKeys = ReturnType<typeof redisKeys>;

/** A tag's fence: who leads it. Stored as `<epoch>:<sequence>:<owner>:<led or free>`. */
export interface Fence {
  /** When it was taken, in milliseconds since the epoch by the store's clock; NaN in a text that is no fence. */
  epoch: number;
  /** Goes up by one with each batch and beat. */
  sequence: number;
  /** The id of a projector's process. */
  owner: string;
  state: 'led' | 'free' | '';
}

/**
 * What moves while a tag is led. On one Redis a beat moves the first tag's fence alone, for all tags of its owner
 * (docs/rules.md#fence): `first`, where it is that owner's. In a cluster each tag's own moves.
 */
export const beating = (fence: string | null, first: string | null): string | null =>
  fence && first && !isFree(fence) && parseFence(fence).owner === parseFence(first).owner ? first : fence;

/** An empty text, where nobody has led, has epoch 0 and no owner. */
export function parseFence(text: string): Fence {
  const [epoch = '0', sequence = '0', owner = '', state = ''] = text.split(':');
  return { epoch: Number(epoch), sequence: Number(sequence), owner, state: state as Fence['state'] };
}

export const fenceText = ({ epoch, sequence, owner, state }: Fence): string => `${epoch}:${sequence}:${owner}:${state}`;
