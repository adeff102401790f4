import { randomBytes } from 'node:crypto';
import { isFree } from '../../../projector/ports/leading.ts';
import {
  type BeatNotes,
  type BeatResult,
  type Leadership,
  openNames,
  StoreRefusesError,
  type TagLook,
  type TagNotes,
  type ViewWrite,
  type ViewWriter,
} from '../../../projector/ports/view-writer.ts';
import { type Clock, realClock } from '../../../projector/running/clock.ts';
import { type Arg, type RedisConnection, readText, readTexts, redisConnection } from '../redis-connection.ts';
import { type Fence, fenceText, parseFence, type RedisKeys, redisKeys } from '../redis-keys.ts';
import { memoryIn } from '../redis-memory.ts';
import type { RedisSettings } from '../redis-settings.ts';
import { listStored, readStored } from './stored-views.ts';
import { beatScript, ConditionalLook, digestOf, lookScript } from './tags-at-once.ts';
import { commitScript, freeScript, type Script, takeScript } from './view-scripts.ts';

/** The part of a held fence that moves. */
type Held = Pick<Fence, 'epoch' | 'sequence'>;

/** Views in Redis, or in a Redis Cluster, written through node-redis. A batch is one script call (docs/rules.md#batch). */
export async function redisViewWriter(settings: RedisSettings): Promise<ViewWriter> {
  // Two processes that start in the same millisecond are still two.
  const owner = randomBytes(8).toString('hex');
  return viewWriterOver(await redisConnection(settings, { waits: true }), redisKeys(settings.keyPrefix), owner);
}

/** Views written over a connection. `owner`: which process this is, in its fences. */
export function viewWriterOver(
  connection: RedisConnection,
  keys: RedisKeys,
  owner: string,
  clock: Clock = realClock,
): ViewWriter {
  const script = scriptCaller(connection);
  const held = new Map<number, Held>();
  const spell = (at: Held, state: Fence['state'] = 'led'): string => fenceText({ ...at, owner, state });
  const next = ({ epoch, sequence }: Held): Held => ({ epoch, sequence: sequence + 1 });
  const notesOf = (tag: number) => [keys.fence, keys.position, keys.open, keys.complete, keys.led].map((of) => of(tag));

  /** Fenced (docs/rules.md#fence): another owner has taken the tag since. Anything else means that the store lost or changed something. */
  const refused = (own: Held, found: string) => {
    const fence = parseFence(found);
    const fenced = fence.owner !== owner && fence.epoch >= own.epoch;
    return { committed: false, reason: fenced ? 'fenced' : 'lost' } as const;
  };

  const conditional = new ConditionalLook();
  const lookAtAll = (tags: readonly number[]): Promise<TagLook[]> =>
    conditional.at(tags, (args) => script(lookScript, [keys.fence(tags[0]!), keys.position(tags[0]!)], args));
  const lookAt = async (tag: number): Promise<TagLook> => {
    const [fence, position] = await readTexts(connection, keys.fence(tag), keys.position(tag));
    return { fence: fence ?? '', position: position! };
  };

  let fit = false;
  const leadership: Leadership = {
    async look(tags) {
      if (!fit) await checkFitness(connection);
      fit = true;
      return connection.isCluster ? Promise.all(tags.map(lookAt)) : lookAtAll(tags);
    },
    isFree: async (tag) => isFree((await readText(connection, keys.fence(tag))) ?? ''),
    async coming(all) {
      const tags = connection.isCluster ? all : all.slice(0, 1);
      const value = `${owner}:${Math.floor(clock.nowMs())}`;
      await Promise.all(tags.map((tag) => connection.command(keys.coming(tag), ['SET', keys.coming(tag), value])));
    },
    async unreadable(ageMs) {
      await connection.command(keys.unreadable(), ['SET', keys.unreadable(), String(ageMs ?? '')]);
    },
    async take(tag, seen, doubtful) {
      const lastEpoch = held.get(tag)?.epoch ?? 0;
      const args = [seen, owner, doubtful ? '1' : '0', String(lastEpoch)];
      const reply = await script(takeScript, notesOf(tag), args);
      if (!Array.isArray(reply)) return null;
      const [fence, position, names] = reply as [Buffer, Buffer, Buffer[]];
      const { epoch, sequence } = parseFence(fence.toString());
      held.set(tag, { epoch, sequence });
      const open = names.map(String);
      const compare = open.includes('compare');
      return { position: position.toString() || null, open: compare ? [] : open, compare };
    },
    isAsLeft(tag, fence) {
      const own = held.get(tag);
      return own !== undefined && (fence === spell(own) || fence === spell(next(own)));
    },
    room: () => roomOf(connection),
    async free(tag) {
      const own = held.get(tag);
      if (own) await script(freeScript, [keys.fence(tag)], [spell(own), spell(own, 'free')]);
    },
  };

  const beat = async (tags: readonly number[], { stamp, position }: BeatNotes): Promise<BeatResult> => {
    const [first] = tags;
    const [own, ...others] = tags.map((tag) => held.get(tag));
    if (!own || !others.every((each) => each !== undefined)) return { committed: false, reason: 'lost' };
    const moved = spell(next(own));
    const fences = [spell(own), moved, stamp || '?', tags.join(), digestOf(others.map((each) => spell(each)))];
    const notes = [position?.text ?? '', String(position?.round ?? 0), position?.cut.join() ?? ''];
    const reply = await script(beatScript, [...notesOf(first!), keys.asked()], [...fences, ...notes]);
    const [left, process, asked] = reply as [Buffer | Buffer[], Buffer, Buffer];
    if (!Array.isArray(left)) {
      held.set(first!, next(own));
      return { committed: true, process: process.toString(), asked: asked.toString() };
    }
    const isFenced = tags.some((tag, i) => refused(held.get(tag)!, String(left[i])).reason === 'fenced');
    return { committed: false, reason: isFenced ? 'fenced' : 'lost' };
  };

  return {
    leadership,
    beat: connection.isCluster ? null : beat,
    async commit(tag, writes, notes = {}) {
      const own = held.get(tag);
      if (!own) return { committed: false, reason: 'lost' };
      const operations = operationsOf(writes, ({ kind, id }) => keys.of(tag, kind, id));
      const names = [...notesOf(tag), ...operations.names];
      const args = [spell(own), spell(next(own)), ...noteArgs(writes, notes), ...operations.args];
      const reply = await script(commitScript, names, args);
      const [fence, process, compare] = (reply as Buffer[]).map(String) as [string, string, string];
      if (fence !== spell(next(own))) return refused(own, fence);
      held.set(tag, next(own));
      return { committed: true, process, compare: compare === '1' };
    },
    list: (tags, whole = false) => listStored(connection, keys, { tags: new Set(tags), whole }),
    read: (names) => readStored(connection, keys, names),
    close: () => connection.close(),
  };
}

/** The arguments of commitScript between the fences and the operations. */
function noteArgs(writes: readonly ViewWrite[], { round, position, compare, stamp }: TagNotes): Arg[] {
  const names = round === undefined ? [] : openNames(writes);
  return [
    stamp === '' ? '?' : (stamp ?? ''),
    position?.text ?? '',
    String(position?.round ?? 0),
    compare ?? '',
    String(round ?? 0),
    String(names.length),
    ...names,
  ];
}

/**
 * The operations of a batch, as commitScript takes them: a letter and a key for each, then all fields of riders in one
 * argument, then the values. Fields are short and many: each as an argument would cost more than its bytes do.
 */
function operationsOf(writes: readonly ViewWrite[], keyOf: (write: ViewWrite) => string) {
  let letters = '';
  const names: string[] = [];
  const values: Buffer[] = [];
  /** For each hash `field, value, field, value, …` of fields to set, or the names of fields to remove. */
  const lists: string[][] = [];
  const add = (letter: string, name: string, list?: string[]): void => {
    letters += letter;
    names.push(name);
    if (list) lists.push(list);
  };
  for (const write of writes) {
    const name = keyOf(write);
    if (write.kind !== 'reader') {
      add(write.value ? 's' : 'd', name);
      if (write.value) values.push(write.value);
      continue;
    }
    if (write.replaces) add('d', name);
    const sets: string[] = [];
    const removes: string[] = [];
    for (const { field, value } of write.fields) {
      if (value === null) removes.push(field);
      else sets.push(field, value);
    }
    if (sets.length > 0) add('h', name, sets);
    if (removes.length > 0) add('r', name, removes);
  }
  return { names, args: [letters, JSON.stringify(lists), ...values] satisfies Arg[] };
}

/** Runs scripts: by EVALSHA, and by EVAL if the server does not know the script. */
function scriptCaller(connection: RedisConnection) {
  return async ({ source, sha }: Script, names: string[], args: Arg[]): Promise<unknown> => {
    const tail = [String(names.length), ...names, ...args];
    try {
      return await connection.command(names[0]!, ['EVALSHA', sha, ...tail]);
    } catch (cause) {
      if (!(cause as Error).message.startsWith('NOSCRIPT')) throw cause;
      return connection.command(names[0]!, ['EVAL', source, ...tail]);
    }
  };
}

/** What each master says of its memory. */
const memoryOf = async (connection: RedisConnection): Promise<string[]> =>
  Promise.all((await connection.masters()).map(async (ask) => String(await ask(['INFO', 'memory']))));

/**
 * The bytes that the masters have left (docs/rules.md#fill), as if each were as full as the fullest: a full master refuses
 * every write to its tags.
 */
async function roomOf(connection: RedisConnection): Promise<number | null> {
  const rooms = (await memoryOf(connection)).map((info) => {
    const { usedBytes, limitBytes } = memoryIn(info);
    return limitBytes - usedBytes;
  });
  const room = Math.min(...rooms) * rooms.length;
  return Number.isFinite(room) ? room : null;
}

/** Refuses any policy but noeviction, because Redis would drop views silently. */
async function checkFitness(connection: RedisConnection): Promise<void> {
  for (const info of await memoryOf(connection)) {
    const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1];
    if (policy !== undefined && policy !== 'noeviction') {
      throw new StoreRefusesError(
        `Cannot keep views in this Redis: maxmemory-policy is ${policy}, want noeviction (CONFIG SET maxmemory-policy noeviction)`,
        { retry: false },
      );
    }
  }
}
