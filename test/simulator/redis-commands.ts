/** A bulk reply is a Buffer, a status a text. */
export type Reply = null | number | string | Buffer | Reply[];

/** A refusal, in Redis's words. */
export class RedisError extends Error {}

export class Hash extends Map<string, Buffer> {}
export class SortedSet extends Map<string, number> {}

/** `list`: another program wrote the key with a type that no view has. */
export type Value = Buffer | Hash | SortedSet | 'list';

/** What commands work on. Names and members are texts with one unit for each byte. */
export interface KeySpace {
  keys: Map<string, Value>;
  nowMs(): number;
  changed(key: string): void;
  /** The text of a section of INFO. */
  info(section: string): string;
}

export interface Command {
  /** How many arguments it wants, with its name; negative: at least so many. */
  arity: number;
  writes?: boolean;
  /** It may need memory: a full Redis refuses it. */
  grows?: boolean;
  run(space: KeySpace, args: readonly string[]): Reply;
}

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

function ofType<T extends Value>({ keys }: KeySpace, key: string, isType: (value: Value) => value is T): T | undefined {
  const value = keys.get(key);
  if (value !== undefined && !isType(value))
    throw new RedisError('WRONGTYPE Operation against a key holding the wrong kind of value');
  return value;
}

const isText = (value: Value): value is Buffer => Buffer.isBuffer(value);
const isHash = (value: Value): value is Hash => value instanceof Hash;
const isSortedSet = (value: Value): value is SortedSet => value instanceof SortedSet;
const isList = (value: Value): value is 'list' => value === 'list';
const textAt = (space: KeySpace, key: string) => ofType(space, key, isText) ?? null;
const hashAt = (space: KeySpace, key: string) => ofType(space, key, isHash);
const sortedSetAt = (space: KeySpace, key: string) => ofType(space, key, isSortedSet);

/** Stores a hash or a sorted set after a change of so many members. An empty one is no key. */
function keep(space: KeySpace, key: string, value: Hash | SortedSet, changes: number): number {
  if (value.size > 0) space.keys.set(key, value);
  else space.keys.delete(key);
  if (changes > 0) space.changed(key);
  return changes;
}

function removed(space: KeySpace, key: string, value: Hash | SortedSet | undefined, members: Iterable<string>): number {
  let count = 0;
  for (const member of members) if (value?.delete(member)) count += 1;
  return value ? keep(space, key, value, count) : 0;
}

const removing = (valueAt: (space: KeySpace, key: string) => Hash | SortedSet | undefined): Command => ({
  arity: -3,
  writes: true,
  run: (space, [key, ...members]) => removed(space, key!, valueAt(space, key!), members),
});

function deleted(space: KeySpace, names: readonly string[]): number {
  let count = 0;
  for (const name of names) {
    if (!space.keys.delete(name)) continue;
    count += 1;
    space.changed(name);
  }
  return count;
}

function integer(text: string): number {
  if (!/^(0|-?[1-9]\d*)$/.test(text)) throw new RedisError('ERR value is not an integer or out of range');
  return Number(text);
}

function float(text: string, words: string): number {
  if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new RedisError(`ERR ${words}`);
  return Number(text);
}

/** As C prints `%.17g`. */
export function g17(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const [digits, exponent] = value.toPrecision(17).split('e') as [string, string?];
  const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
  const small = Math.abs(value) < 1e-4 && value !== 0;
  if (exponent === undefined && !small) return short;
  const [mantissa, power] = value.toExponential(16).split('e') as [string, string];
  return `${mantissa.replace(/\.?0+$/, '')}e${power[0]}${power.slice(1).padStart(2, '0')}`;
}

/** The part of a row between two indices, of which negative ones count from its end. */
function range(first: string, last: string): (length: number) => [from: number, end: number] {
  const [from, to] = [integer(first), integer(last)];
  const placeOf = (at: number, length: number) => Math.max(at < 0 ? at + length : at, -1);
  return (length) => [Math.max(placeOf(from, length), 0), placeOf(to, length) + 1];
}

const compare = <T extends number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const inOrder = (set: SortedSet | undefined): string[] =>
  [...(set ?? [])].sort(([a, x], [b, y]) => compare(x, y) || compare(a, b)).map(([member]) => member);

function bound(text: string): (score: number) => number {
  const excludes = text.startsWith('(');
  const limit = float(excludes ? text.slice(1) : text, 'min or max is not a float');
  return (score) => (score === limit ? (excludes ? Number.NaN : 0) : score < limit ? -1 : 1);
}

const wrongNumber = (name: string): RedisError => new RedisError(`ERR wrong number of arguments for '${name}' command`);

/** The commands that the scripts and clients of views send, and what other programs do in tests. */
export const commands: Record<string, Command> = {
  GET: { arity: 2, run: (space, [key]) => textAt(space, key!) },
  MGET: {
    arity: -2,
    run: ({ keys }, names) =>
      names.map((name) => (Buffer.isBuffer(keys.get(name)) ? (keys.get(name) as Buffer) : null)),
  },
  GETRANGE: {
    arity: 4,
    run(space, [key, first, last]) {
      const within = range(first!, last!);
      const text = textAt(space, key!) ?? Buffer.alloc(0);
      return text.subarray(...within(text.length));
    },
  },
  SET: {
    arity: 3,
    writes: true,
    grows: true,
    run(space, [key, value]) {
      space.keys.set(key!, bytes(value!));
      space.changed(key!);
      return 'OK';
    },
  },
  DEL: { arity: -2, writes: true, run: deleted },
  UNLINK: { arity: -2, writes: true, run: deleted },
  HSET: {
    arity: -4,
    writes: true,
    grows: true,
    run(space, [key, ...pairs]) {
      if (pairs.length % 2 === 1) throw wrongNumber('hset');
      const hash = hashAt(space, key!) ?? new Hash();
      const before = hash.size;
      for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i]!, bytes(pairs[i + 1]!));
      keep(space, key!, hash, pairs.length);
      return hash.size - before;
    },
  },
  HDEL: removing(hashAt),
  HMGET: {
    arity: -3,
    run(space, [key, ...fields]) {
      const hash = hashAt(space, key!);
      return fields.map((field) => hash?.get(field) ?? null);
    },
  },
  HGETALL: {
    arity: 2,
    run: (space, [key]) => [...(hashAt(space, key!) ?? [])].flatMap(([field, value]) => [bytes(field), value]),
  },
  ZADD: {
    arity: -4,
    writes: true,
    grows: true,
    run(space, [key, ...pairs]) {
      if (pairs.length % 2 === 1) throw new RedisError('ERR syntax error');
      const scores = pairs.filter((_, i) => i % 2 === 0).map((score) => float(score, 'value is not a valid float'));
      const set = sortedSetAt(space, key!) ?? new SortedSet();
      const before = set.size;
      for (const [i, score] of scores.entries()) set.set(pairs[2 * i + 1]!, score);
      keep(space, key!, set, scores.length);
      return set.size - before;
    },
  },
  ZREM: removing(sortedSetAt),
  ZREMRANGEBYSCORE: {
    arity: 4,
    writes: true,
    run(space, [key, min, max]) {
      const [above, below] = [bound(min!), bound(max!)];
      const set = sortedSetAt(space, key!);
      const within = [...(set ?? [])].filter(([, score]) => above(score) >= 0 && below(score) <= 0);
      const members = within.map(([member]) => member);
      return removed(space, key!, set, members);
    },
  },
  ZUNIONSTORE: {
    arity: -4,
    writes: true,
    grows: true,
    run(space, [key, count, ...rest]) {
      const sources = rest.slice(0, integer(count!)).map((name) => sortedSetAt(space, name) ?? new SortedSet());
      const [word, ...weights] = rest.slice(sources.length);
      if (word !== 'WEIGHTS' || weights.length !== sources.length) throw new RedisError('ERR syntax error');
      const union = new SortedSet();
      for (const [i, source] of sources.entries()) {
        const weight = float(weights[i]!, 'weight value is not a float');
        // Infinity times nothing is nothing.
        for (const [member, score] of source) union.set(member, (union.get(member) ?? 0) + (score * weight || 0));
      }
      keep(space, key!, union, 1);
      return union.size;
    },
  },
  ZCARD: { arity: 2, run: (space, [key]) => sortedSetAt(space, key!)?.size ?? 0 },
  ZSCORE: {
    arity: 3,
    run(space, [key, member]) {
      const score = sortedSetAt(space, key!)?.get(member!);
      return score === undefined ? null : bytes(g17(score));
    },
  },
  ZRANGE: {
    arity: 4,
    run(space, [key, first, last]) {
      const within = range(first!, last!);
      const members = inOrder(sortedSetAt(space, key!));
      return members.slice(...within(members.length)).map(bytes);
    },
  },
  RPUSH: {
    arity: 3,
    writes: true,
    grows: true,
    run(space, [key]) {
      ofType(space, key!, isList);
      space.keys.set(key!, 'list');
      space.changed(key!);
      return 1;
    },
  },
  TIME: {
    arity: 1,
    run(space) {
      const micros = Math.floor(space.nowMs() * 1_000);
      return [Math.floor(micros / 1e6), micros % 1e6].map((each) => bytes(String(each)));
    },
  },
  INFO: { arity: -1, run: (space, [section]) => bytes(space.info(section ?? '')) },
};
