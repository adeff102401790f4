import type { Arg } from '../../infra/redis/redis-connection.ts';
import { commitScript, freeScript, takeScript } from '../../infra/redis/views/view-scripts.ts';
import { StoreRefusesError } from '../../projector/ports/view-writer.ts';
import { unpacked } from './packed-texts.ts';

/** `list`: another program wrote the key with a type that no view has. */
type Value = Buffer | Map<string, Buffer> | Map<string, number> | 'list';

/** What a Redis held at one moment. */
export type Snapshot = ReadonlyMap<string, Value>;

/** Hears the names of public keys that change; null: all did. False once its connection is gone. */
export type Tracker = (names: Buffer[] | null) => boolean;

/**
 * One Redis, as far as views need it: the commands that adapters send, and what the scripts of infra/redis do, line by
 * line. test/simulator/redis-in-memory.test.ts holds it to the contracts that a real one is held to.
 */
export class RedisInMemory {
  readonly #nowMs: () => number;
  readonly #openNamesMax: number;
  #keys = new Map<string, Value>();
  /** How far a SCAN has got, by its cursor. */
  readonly #cursors = [''];
  #trackers: { prefix: string; tracker: Tracker }[] = [];
  /** It takes no more (OOM). */
  isFull = false;
  runId: string;
  replicationId: string;

  constructor(nowMs: () => number, process = 'first', openNamesMax = 20_000) {
    this.#nowMs = nowMs;
    this.#openNamesMax = openNamesMax;
    this.runId = `run${process}`;
    this.replicationId = `repl${process}`;
  }

  /** As stamps name it. */
  get process(): string {
    return `${this.runId}:${this.replicationId}`;
  }

  get snapshot(): Snapshot {
    return copied(this.#keys);
  }

  get keys(): ReadonlyMap<string, Value> {
    return this.#keys;
  }

  /** Another process has taken over, with what was held at some moment. Its clients are gone. */
  restart(snapshot: Snapshot, { runId, replicationId }: { runId: string; replicationId: string }): void {
    this.#keys = copied(snapshot);
    this.runId = runId;
    this.replicationId = replicationId;
    this.#trackers = [];
  }

  /** FLUSHALL */
  empty(): void {
    this.#keys.clear();
    this.#trackers = this.#trackers.filter(({ tracker }) => tracker(null));
  }

  /** CLIENT TRACKING by a prefix. */
  track(prefix: string, tracker: Tracker): void {
    this.#trackers.push({ prefix, tracker });
  }

  /** A command's reply, with Buffers for texts. Throws what Redis refuses. */
  command(args: readonly Arg[]): unknown {
    const [name, key, ...rest] = args.map((arg, i) => (i < 2 ? String(arg) : arg)) as [string, string, ...Arg[]];
    switch (name) {
      case 'GET':
        return this.#text(key);
      case 'MGET':
        return args.slice(1).map((each) => this.#textOr(String(each)));
      case 'SET':
        this.#set(key, rest[0]!);
        return 'OK';
      case 'DEL':
        this.#delete(key);
        return 1;
      case 'ZADD':
        this.#edit(key, (list) => list.set(String(rest[1]), Number.POSITIVE_INFINITY));
        return 1;
      case 'RPUSH':
        this.#keys.set(key, 'list');
        this.#changed(key);
        return 1;
      case 'HMGET':
        return rest.map((field) => this.#hash(key)?.get(String(field)) ?? null);
      case 'HGETALL':
        return [...(this.#hash(key) ?? [])].flatMap(([field, value]) => [Buffer.from(field), value]);
      case 'GETRANGE':
        return (this.#text(key) ?? Buffer.alloc(0)).subarray(Number(rest[0]), Number(rest[1]) + 1);
      case 'INFO':
        return Buffer.from('maxmemory_policy:noeviction\r\n');
      case 'SCAN':
        return this.#scan(Number(key), String(rest[1]));
      case 'EVALSHA':
        return this.#wholeScript(key, rest);
      default:
        throw new Error(`ERR unknown command ${name}`);
    }
  }

  /** A full store refuses all of a script, or nothing. */
  #wholeScript(sha: string, args: readonly Arg[]): unknown {
    if (!this.isFull) return this.#script(sha, args);
    const before = copied(this.#keys);
    try {
      return this.#script(sha, args);
    } catch (cause) {
      this.#keys = before;
      throw cause;
    }
  }

  #script(sha: string, [count, ...rest]: readonly Arg[]): unknown {
    const keys = rest.slice(0, Number(count)).map(String);
    const args = rest.slice(Number(count));
    if (sha === commitScript.sha) return this.#commit(keys, args);
    if (sha === takeScript.sha) return this.#take(keys, args.map(String));
    if (sha === freeScript.sha) return this.#free(keys, args.map(String));
    throw new Error('NOSCRIPT No matching script');
  }

  #commit(keys: readonly string[], args: readonly Arg[]): unknown {
    const [fence, position, open, complete, led] = keys as [string, string, string, string, string];
    const [expected, after, stamp, text, since, compare, round, count] = args.slice(0, 8).map(String);
    const replaced: string[] = [];
    const found = this.#fence(fence, replaced);
    const reply = (left: string, process = '', mark = '0') => [
      ...[left, process, mark].map((each) => Buffer.from(each)),
      replaced.map((each) => Buffer.from(each)),
    ];
    if (found !== after && found !== expected) return reply(found);
    const doubt = (): unknown => {
      this.#delete(fence);
      this.#delete(complete);
      this.#sayCompare(open);
      return reply('', '', '1');
    };
    if (this.#isOther(open, replaced)) return doubt();
    if (found === expected) {
      const names = Number(count);
      if (text !== '') {
        this.#textOr(position, replaced);
        this.#set(position, text!);
        this.#edit(open, (list) => {
          for (const [name, at] of list) if (at < Number(since)) list.delete(name);
        });
      }
      if (compare === 'end') this.#edit(open, (list) => list.delete('compare'));
      if (compare === 'begin') this.#sayCompare(open);
      if (names > 0) {
        this.#edit(open, (list) => {
          for (let i = 8; i < 8 + names; i++) list.set(String(args[i]), Number(round));
        });
        if (this.#list(open).size > this.#openNamesMax) this.#sayCompare(open);
      }
      if (!this.#write(keys.slice(5), args.slice(8 + names), replaced)) return doubt();
      this.#set(fence, after!);
    }
    if (stamp !== '' && this.process === stamp) {
      if (this.#textOr(complete, replaced)?.toString() !== stamp) this.#set(complete, stamp);
      const owner = after!.split(':')[2]!;
      if (this.#textOr(led, replaced)?.toString() !== owner) this.#set(led, owner);
    }
    return reply(after!, stamp === '' ? '' : this.process, this.#list(open).has('compare') ? '1' : '0');
  }

  /** False where a hash had another type. */
  #write(keys: readonly string[], [letters, packed, ...values]: readonly Arg[], replaced: string[]): boolean {
    let isWhole = true;
    const lists = packed === '' ? [] : unpacked(packed as Buffer);
    keys.forEach((key, i) => {
      const operation = String(letters)[i]!;
      if (operation === 's') this.#set(key, values.shift()!);
      else if (operation === 'd') this.#delete(key);
      else {
        const fields = lists.shift()!;
        if (this.#isOther(key, replaced)) {
          this.#delete(key);
          isWhole = false;
        } else this.#writeFields(key, operation, fields);
      }
    });
    return isWhole;
  }

  #writeFields(key: string, operation: string, args: readonly string[]): void {
    const hash = this.#hash(key) ?? new Map<string, Buffer>();
    if (operation === 'r') for (const field of args) hash.delete(field);
    else for (let i = 0; i < args.length; i += 2) hash.set(args[i]!, Buffer.from(args[i + 1]!));
    if (hash.size > 0) this.#keys.set(key, hash);
    else this.#keys.delete(key);
    this.#changed(key);
  }

  #take(
    [fence, position, open, complete, led]: readonly string[],
    [seen, owner, doubtful, last]: readonly string[],
  ): unknown {
    const replaced: string[] = [];
    const found = this.#fence(fence!, replaced);
    const foundEpoch = Number.parseInt(found, 10) || 0;
    let left = found;
    if (found === seen) {
      const epoch = Math.max(Math.floor(this.#nowMs()), Math.max(foundEpoch, Number(last)) + 1);
      if (doubtful === '1' || this.#isOther(open!, replaced) || this.#list(open!).has('compare'))
        this.#sayCompare(open!);
      else this.#edit(open!, (list) => list.forEach((_, name) => void list.set(name, 0)));
      if (doubtful === '1') this.#delete(complete!);
      this.#delete(led!);
      left = `${epoch}:0:${owner}:led`;
      this.#set(fence!, left);
    } else if (!found.includes(`:0:${owner}:led`) || foundEpoch <= Number(last)) return Buffer.from(found);
    const names = [...this.#list(open!).keys()].map((name) => Buffer.from(name));
    const text = this.#textOr(position!, replaced) ?? Buffer.alloc(0);
    return [Buffer.from(left), text, names, replaced.map((each) => Buffer.from(each))];
  }

  #free([fence]: readonly string[], [expected, after]: readonly string[]): number {
    if (this.#fence(fence!) === expected) this.#set(fence!, after!);
    return 1;
  }

  #scan(cursor: number, pattern: string): unknown {
    const tag = /\{v\d+\}/.exec(pattern)?.[0] ?? '';
    const page = 20;
    // Keys that come or go meanwhile may be returned or not; all others are.
    const left = [...this.#keys.keys()].filter((name) => cursor === 0 || name > this.#cursors[cursor]!).sort();
    const names = left.slice(0, page);
    const next = left.length > page ? this.#cursors.push(names.at(-1)!) - 1 : 0;
    const found = names.filter((name) => name.includes(tag));
    return [Buffer.from(String(next)), found.map((name) => Buffer.from(name))];
  }

  #fence(key: string, replaced: string[] = []): string {
    return this.#textOr(key, replaced)?.toString() ?? '';
  }

  /** Whether a key has another type than any of ours. */
  #isOther(key: string, replaced: string[]): boolean {
    const isOther = this.#keys.get(key) === 'list';
    if (isOther) replaced.push(key);
    return isOther;
  }

  /** Null also where the key has another type. */
  #textOr(key: string, replaced: string[] = []): Buffer | null {
    return this.#isOther(key, replaced) ? null : this.#text(key);
  }

  #sayCompare(open: string): void {
    this.#keys.set(open, new Map([['compare', Number.POSITIVE_INFINITY]]));
  }

  #list(open: string): Map<string, number> {
    return this.#ofType<Map<string, number>>(open) ?? new Map();
  }

  #edit(open: string, edit: (list: Map<string, number>) => void): void {
    const list = this.#list(open);
    edit(list);
    if (list.size > 0) this.#keys.set(open, list);
    else this.#keys.delete(open);
  }

  #text(key: string): Buffer | null {
    return this.#ofType<Buffer>(key) ?? null;
  }

  #hash(key: string): Map<string, Buffer> | undefined {
    return this.#ofType<Map<string, Buffer>>(key);
  }

  #ofType<T extends Value>(key: string): T | undefined {
    const value = this.#keys.get(key);
    if (value === 'list') throw new Error('WRONGTYPE Operation against a key holding the wrong kind of value');
    return value as T | undefined;
  }

  #set(key: string, value: Arg): void {
    if (this.isFull) throw new StoreRefusesError('Redis is full (OOM)', { retry: true });
    this.#keys.set(key, typeof value === 'string' ? Buffer.from(value) : value);
    this.#changed(key);
  }

  #delete(key: string): void {
    if (this.#keys.delete(key)) this.#changed(key);
  }

  #changed(key: string): void {
    const gone = this.#trackers.filter(({ prefix, tracker }) => key.startsWith(prefix) && !tracker([Buffer.from(key)]));
    if (gone.length > 0) this.#trackers = this.#trackers.filter((each) => !gone.includes(each));
  }
}

function copied(keys: Snapshot): Map<string, Value> {
  const copy = new Map<string, Value>();
  for (const [key, value] of keys) {
    copy.set(key, value instanceof Map ? (new Map<string, unknown>(value) as Map<string, Buffer>) : value);
  }
  return copy;
}
