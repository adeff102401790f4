/** A bulk reply is a Buffer, a status a text. */
export type Reply = null | number | string | Buffer | Reply[];

/** A refusal, in Redis's words. */
export class RedisError extends Error {}

export class Hash extends Map<string, Buffer> {}
export class SortedSet extends Map<string, number> {}

/** `set`: another program wrote the key with a type that no view has, a set of one `x`. */
export type Value = Buffer | Hash | SortedSet | 'set';

/** What commands work on. Names and members are texts with one unit for each byte. */
export interface KeySpace {
  keys: Map<string, Value>;
  nowMs(): number;
  changed(key: string): void;
  /** The text of a section of INFO. */
  info(section: string): string;
}

export interface Command {
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
const isSet = (value: Value): value is 'set' => value === 'set';
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

const reading = (run: Command['run']): Command => ({ run });
const writing = (run: Command['run']): Command => ({ writes: true, run });
const growing = (run: Command['run']): Command => ({ writes: true, grows: true, run });

const removing = (valueAt: (space: KeySpace, key: string) => Hash | SortedSet | undefined): Command =>
  writing((space, [key, ...members]) => removed(space, key!, valueAt(space, key!), members));

/** Of SET and MSET. */
const settingTexts = growing((space, pairs) => {
  for (let i = 0; i < pairs.length; i += 2) {
    space.keys.set(pairs[i]!, bytes(pairs[i + 1]!));
    space.changed(pairs[i]!);
  }
  return 'OK';
});

const scoreOf = (text: string): number =>
  text.endsWith('inf') ? (text.startsWith('-') ? -Infinity : Infinity) : Number(text);

/** How Redis writes a number. Scores and the numbers of scripts have no fraction. */
export const numberText = (value: number): string => (value === Infinity ? 'inf' : String(value));

/** The part of a row from one index to another, of which a negative one counts from the end. */
const range = (length: number, first: string, last: string): [from: number, end: number] => [
  Number(first),
  Number(last) + 1 + (Number(last) < 0 ? length : 0),
];

const compare = <T extends number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const inOrder = (set: SortedSet | undefined): string[] =>
  [...(set ?? [])].sort(([a, x], [b, y]) => compare(x, y) || compare(a, b)).map(([member]) => member);

/** The commands that the scripts and clients of views send, and what other programs do in tests. */
export const commands: Record<string, Command> = {
  GET: reading((space, [key]) => textAt(space, key!)),
  MGET: reading(({ keys }, names) =>
    names.map((name) => (Buffer.isBuffer(keys.get(name)) ? (keys.get(name) as Buffer) : null)),
  ),
  GETRANGE: reading((space, [key, first, last]) => {
    const text = textAt(space, key!) ?? Buffer.alloc(0);
    return text.subarray(...range(text.length, first!, last!));
  }),
  SET: settingTexts,
  MSET: settingTexts,
  DEL: writing((space, names) => {
    const found = names.filter((name) => space.keys.delete(name));
    for (const name of found) space.changed(name);
    return found.length;
  }),
  HSET: growing((space, [key, ...pairs]) => {
    const hash = hashAt(space, key!) ?? new Hash();
    const before = hash.size;
    for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i]!, bytes(pairs[i + 1]!));
    keep(space, key!, hash, pairs.length);
    return hash.size - before;
  }),
  HDEL: removing(hashAt),
  HMGET: reading((space, [key, ...fields]) => {
    const hash = hashAt(space, key!);
    return fields.map((field) => hash?.get(field) ?? null);
  }),
  HGETALL: reading((space, [key]) =>
    [...(hashAt(space, key!) ?? [])].flatMap(([field, value]) => [bytes(field), value]),
  ),
  ZADD: growing((space, [key, ...pairs]) => {
    const set = sortedSetAt(space, key!) ?? new SortedSet();
    const before = set.size;
    for (let i = 0; i < pairs.length; i += 2) set.set(pairs[i + 1]!, scoreOf(pairs[i]!));
    keep(space, key!, set, pairs.length);
    return set.size - before;
  }),
  ZREM: removing(sortedSetAt),
  /** Below a score: `-inf (7`. */
  ZREMRANGEBYSCORE: writing((space, [key, , max]) => {
    const set = sortedSetAt(space, key!);
    const below = [...(set ?? [])].filter(([, score]) => score < scoreOf(max!.slice(1)));
    return removed(
      space,
      key!,
      set,
      below.map(([member]) => member),
    );
  }),
  /** Of one set, with a weight: `1 source WEIGHTS 0`. */
  ZUNIONSTORE: growing((space, [key, , source, , weight]) => {
    const union = new SortedSet();
    // Infinity times nothing is nothing.
    for (const [member, score] of sortedSetAt(space, source!) ?? []) union.set(member, score * Number(weight) || 0);
    keep(space, key!, union, 1);
    return union.size;
  }),
  ZCARD: reading((space, [key]) => sortedSetAt(space, key!)?.size ?? 0),
  ZSCORE: reading((space, [key, member]) => {
    const score = sortedSetAt(space, key!)?.get(member!);
    return score === undefined ? null : bytes(numberText(score));
  }),
  ZRANGE: reading((space, [key, first, last]) => {
    const members = inOrder(sortedSetAt(space, key!));
    return members.slice(...range(members.length, first!, last!)).map(bytes);
  }),
  SADD: growing((space, [key]) => {
    if (ofType(space, key!, isSet)) return 0;
    space.keys.set(key!, 'set');
    space.changed(key!);
    return 1;
  }),
  TIME: reading((space) => {
    const micros = Math.floor(space.nowMs() * 1_000);
    return [Math.floor(micros / 1e6), micros % 1e6].map((each) => bytes(String(each)));
  }),
  INFO: reading((space, [section]) => bytes(space.info(section ?? ''))),
};
