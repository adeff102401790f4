import type { Arg } from '../../infra/redis/redis-connection.ts';
import {
  type Command,
  commands,
  Hash,
  type KeySpace,
  RedisError,
  type Reply,
  SortedSet,
  type Value,
} from './redis-commands.ts';
import { runScript, sha1 } from './redis-scripts.ts';

/** What a Redis held at one moment. */
export type Snapshot = ReadonlyMap<string, Value>;

/** Hears the names of public keys that change; null: all did. False once its connection is gone. */
export type Tracker = (names: Buffer[] | null) => boolean;

/** What a Redis may answer for a while, to each command that it does so to. */
const refusals = {
  OOM: ({ grows }: Command) => grows && "OOM command not allowed when used memory > 'maxmemory'.",
  READONLY: ({ writes }: Command) => writes && "READONLY You can't write against a read only replica.",
  LOADING: () => 'LOADING Redis is loading the dataset in memory',
  BUSY: () => 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  NOAUTH: () => 'NOAUTH Authentication required.',
};

export type Refusal = keyof typeof refusals;
export const refusalNames = Object.keys(refusals) as Refusal[];

const evalCommand: Command = { run: () => null };

/** One Redis, as far as views need it. Scripts are run by a real Lua. redis-in-memory.int.test.ts holds it to a real Redis. */
export class RedisInMemory implements KeySpace {
  readonly nowMs: () => number;
  readonly #rewrite: (source: string) => string;
  keys = new Map<string, Value>();
  /** By its digest. Another process knows none. */
  #scripts = new Map<string, string>();
  /** How far a SCAN has got, by its cursor. */
  readonly #cursors = [''];
  #trackers: { prefix: string; tracker: Tracker }[] = [];
  /** What it answers to commands instead of carrying them out. */
  refuses: Refusal | null = null;
  runId: string;
  replicationId: string;

  /** `rewrite`: what to run instead of a script, for a test of another one. */
  constructor(nowMs: () => number, process = 'first', rewrite = (source: string): string => source) {
    this.nowMs = nowMs;
    this.#rewrite = rewrite;
    this.runId = `run${process}`;
    this.replicationId = `repl${process}`;
  }

  /** As stamps name it. */
  get process(): string {
    return `${this.runId}:${this.replicationId}`;
  }

  get snapshot(): Snapshot {
    return copied(this.keys);
  }

  /** Another process has taken over, with what was held at some moment. Its clients are gone. */
  restart(snapshot: Snapshot, { runId, replicationId }: { runId: string; replicationId: string }): void {
    this.keys = copied(snapshot);
    this.#scripts.clear();
    this.runId = runId;
    this.replicationId = replicationId;
    this.#trackers = [];
  }

  /** FLUSHALL */
  empty(): void {
    this.keys.clear();
    this.#trackers = this.#trackers.filter(({ tracker }) => tracker(null));
  }

  /** CLIENT TRACKING by a prefix. */
  track(prefix: string, tracker: Tracker): void {
    this.#trackers.push({ prefix, tracker });
  }

  /** A command's reply, with Buffers for texts. Throws what Redis refuses. */
  command(args: readonly Arg[]): unknown {
    const [name, ...rest] = args.map(bytesOf) as [string, ...string[]];
    if (name === 'SCAN') return this.#scan(Number(rest[0]), rest[rest.indexOf('MATCH') + 1]!);
    if (name === 'EVAL' || name === 'EVALSHA') return this.#evaluated(name, rest);
    const command = commands[name];
    if (!command) throw new RedisError(`ERR unknown command '${name}'`);
    this.#assertTakes(command);
    return command.run(this, rest);
  }

  #evaluated(name: string, [script, count, ...rest]: readonly string[]): Reply {
    this.#assertTakes(evalCommand);
    const sha = name === 'EVAL' ? sha1(script!) : script!;
    if (name === 'EVAL') this.#scripts.set(sha, this.#rewrite(script!));
    const source = this.#scripts.get(sha);
    if (source === undefined) throw new RedisError('NOSCRIPT No matching script. Please use EVAL.');
    let hasWritten = false;
    const keys = rest.slice(0, Number(count));
    return runScript({ sha, source, keys, args: rest.slice(keys.length) }, ([name, ...args]) => {
      const command = commands[name!];
      if (!command) throw new RedisError('ERR Unknown Redis command called from script');
      // A script that has written may go on: half of what it does would be worse.
      if (this.refuses !== 'OOM' || !hasWritten) this.#assertTakes(command);
      hasWritten ||= command.writes ?? false;
      return command.run(this, args);
    });
  }

  #assertTakes(command: Command): void {
    const words = this.refuses && refusals[this.refuses](command);
    if (words) throw new RedisError(words);
  }

  #scan(cursor: number, pattern: string): Reply {
    this.#assertTakes(evalCommand);
    // As our patterns are: a prefix, `*`, and perhaps a part and `*`.
    const [prefix, part] = pattern.split(/(?<!\\)\*/).map((text) => text.replace(/\\(.)/gs, '$1')) as [string, string];
    const page = 20;
    // Keys that come or go meanwhile may be returned or not; all others are.
    const left = [...this.keys.keys()].filter((name) => cursor === 0 || name > this.#cursors[cursor]!).sort();
    const names = left.slice(0, page);
    const next = left.length > page ? this.#cursors.push(names.at(-1)!) - 1 : 0;
    const found = names.filter((name) => name.startsWith(prefix) && name.includes(part, prefix.length));
    return [Buffer.from(String(next)), found.map((name) => Buffer.from(name, 'latin1'))];
  }

  info(section: string): string {
    const lines = {
      server: `run_id:${this.runId}\r\n`,
      replication: `role:master\r\nmaster_replid:${this.replicationId}\r\n`,
      memory: 'maxmemory_policy:noeviction\r\n',
    };
    return lines[section as keyof typeof lines] ?? '';
  }

  changed(key: string): void {
    const gone = this.#trackers.filter(
      ({ prefix, tracker }) => key.startsWith(prefix) && !tracker([Buffer.from(key, 'latin1')]),
    );
    if (gone.length > 0) this.#trackers = this.#trackers.filter((each) => !gone.includes(each));
  }
}

/** A text with one unit for each byte. */
function bytesOf(arg: Arg): string {
  if (typeof arg !== 'string') return arg.toString('latin1');
  return /^[\x00-\x7f]*$/.test(arg) ? arg : Buffer.from(arg).toString('latin1');
}

function copied(keys: Snapshot): Map<string, Value> {
  const copy = new Map<string, Value>();
  for (const [key, value] of keys) {
    const isHash = value instanceof Hash;
    copy.set(key, isHash ? new Hash(value) : value instanceof SortedSet ? new SortedSet(value) : value);
  }
  return copy;
}
