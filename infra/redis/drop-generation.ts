import { randomBytes } from 'node:crypto';
import { allTags } from '../../schemas/views/view-keys.ts';
import { type RedisConnection, readText } from './redis-connection.ts';
import { whoLeads } from './redis-generations.ts';
import { fenceText, parseFence, redisKeys } from './redis-keys.ts';
import { type Script, script, takeArguments, takeScript } from './redis-scripts.ts';
import { scanKeys } from './scan-keys.ts';

// A projector that stands by takes over after five looks, 500 ms apart, at a fence that stands still.
const beatMs = 500;

/** It is led, or became so meanwhile: nothing more is removed. */
export class StillLedError extends Error {
  override name = 'StillLedError';
}

/** KEYS: fence. ARGV: the expected fence, the next one; empty: none any more. */
const moveScript = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 1
`);

/**
 * Removes all keys of a view format; says how many there were. It takes the fences first, as a projector does, and with each the
 * stamp, so that whatever ends half-way is not complete and is compared by the next leader. The fences go last. Throws
 * StillLedError where a projector of it runs.
 */
export async function dropGeneration(
  connection: RedisConnection,
  keyPrefix: string,
  format: number,
  signal: AbortSignal,
): Promise<number> {
  const keys = redisKeys(keyPrefix, format);
  const there = await countKeys(connection, keys.prefix, signal);
  if (there === 0) {
    throw new Error(`Cannot drop format ${format}: the store holds nothing of it`);
  }
  const [led] = await whoLeads(connection, keyPrefix, [format], signal);
  if (led!.standby || led!.leaders.some(({ alive }) => alive)) {
    throw new StillLedError(`Cannot drop format ${format}: a projector of it runs; stop it first`);
  }
  const fences = new TakenFences(connection, format, keys.fence);
  for (const tag of allTags) {
    const notes = [keys.fence, keys.position, keys.open, keys.complete, keys.led].map((of) => of(tag));
    await fences.take(tag, notes);
  }
  const fenceKeys = new Set(allTags.map(keys.fence));
  for await (const { master, names } of scanKeys(connection, { prefix: keys.prefix, signal })) {
    const gone = names.filter((name) => !fenceKeys.has(name.toString()));
    await Promise.all(gone.map((name) => master(['UNLINK', name])));
    await fences.beat();
  }
  await fences.remove();
  return there;
}

async function countKeys(connection: RedisConnection, prefix: string, signal: AbortSignal): Promise<number> {
  let count = 0;
  for await (const { names } of scanKeys(connection, { prefix, signal })) count += names.length;
  return count;
}

/** Fences that are held while views are removed. */
class TakenFences {
  readonly #connection: RedisConnection;
  readonly #format: number;
  readonly #keyOf: (tag: number) => string;
  readonly #owner = randomBytes(8).toString('hex');
  readonly #held = new Map<number, { epoch: number; sequence: number }>();
  #beatAtMs = 0;

  constructor(connection: RedisConnection, format: number, keyOf: (tag: number) => string) {
    this.#connection = connection;
    this.#format = format;
    this.#keyOf = keyOf;
  }

  /** Takes a tag's fence as it is now, and the stamp with it. */
  async take(tag: number, notes: readonly string[]): Promise<void> {
    const seen = (await readText(this.#connection, this.#keyOf(tag))) ?? '';
    const lastEpoch = this.#held.get(tag)?.epoch ?? 0;
    const given = takeArguments({ seen, owner: this.#owner, doubtful: true, lastEpoch });
    const reply = await this.#call(takeScript, notes, given);
    if (!Array.isArray(reply)) throw this.#taken();
    this.#held.set(tag, { epoch: parseFence(String(reply[0])).epoch, sequence: 0 });
  }

  /** Moves them, now and then, so that no projector takes over. */
  async beat(): Promise<void> {
    if (performance.now() - this.#beatAtMs < beatMs) return;
    this.#beatAtMs = performance.now();
    await Promise.all([...this.#held.keys()].map((tag) => this.#move(tag, false)));
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#held.keys()].map((tag) => this.#move(tag, true)));
  }

  async #move(tag: number, away: boolean): Promise<void> {
    const { epoch, sequence } = this.#held.get(tag)!;
    const spell = (at: number) => fenceText({ epoch, sequence: at, owner: this.#owner, state: 'led' });
    const moved = await this.#call(moveScript, [this.#keyOf(tag)], [spell(sequence), away ? '' : spell(sequence + 1)]);
    if (Number(moved) !== 1) throw this.#taken();
    this.#held.set(tag, { epoch, sequence: sequence + 1 });
  }

  #call({ source }: Script, names: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#connection.command(names[0]!, ['EVAL', source, String(names.length), ...names, ...args]);
  }

  #taken(): StillLedError {
    return new StillLedError(
      `Cannot drop format ${this.#format}: a projector of it has begun to lead meanwhile; stop it, and drop it again`,
    );
  }
}
