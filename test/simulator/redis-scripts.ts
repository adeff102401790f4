import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Lua, LuaError, type LuaTable, type LuaValue } from './lua.ts';
import { numberText, RedisError, type Reply } from './redis-commands.ts';

export const sha1 = (source: string): string => createHash('sha1').update(source).digest('hex');

/** Carries out a command of the script that runs. */
type Call = (args: readonly string[]) => Reply;

let running: Call | null = null;

// One for all stores: a script keeps nothing from one run to the next, and is compiled once.
const lua = new Lua(readFileSync(new URL('redis-api.lua', import.meta.url), 'utf8'), {
  hostCall: (args) => called(args, true),
  hostPcall: (args) => called(args, false),
  hostSha1: ([text]) => createHash('sha1').update(String(text), 'latin1').digest('hex'),
  hostDecode: ([json]) => decoded(String(json)),
});

function called(args: readonly LuaValue[], raises: boolean): LuaValue {
  try {
    return toLua(running!(args.map(argumentOf)));
  } catch (cause) {
    if (!(cause instanceof RedisError)) throw cause;
    const refusal = { items: [], names: { err: cause.message } };
    if (raises) throw new LuaError('raised in Lua', { cause: refusal });
    return refusal;
  }
}

function argumentOf(value: LuaValue): string {
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return value;
  throw new RedisError('ERR Lua redis lib command arguments must be strings or integers');
}

interface Script {
  /** The digest that it is known by. */
  sha: string;
  source: string;
  keys: readonly string[];
  args: readonly string[];
}

/** Runs a script as EVAL does. All its texts have one unit for each byte. */
export function runScript({ sha, source, keys, args }: Script, call: Call): Reply {
  running = call;
  return fromLua(lua.call([sha, source, { items: keys }, { items: args }]));
}

function toLua(reply: Reply): LuaValue {
  if (reply === null) return false;
  if (typeof reply === 'string') return { items: [], names: { ok: reply } };
  return Array.isArray(reply) ? { items: reply.map(toLua) } : reply;
}

function fromLua(value: LuaValue): Reply {
  if (value === null || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value);
  if (typeof value === 'string') return Buffer.from(value, 'latin1');
  const { items, names = {} } = value as LuaTable;
  if (typeof names.err === 'string') throw new RedisError(names.err);
  return typeof names.ok === 'string' ? names.ok : items.map(fromLua);
}

/** What `cjson.decode` makes of lists of texts in JSON. Scripts are sent no other JSON. */
function decoded(json: string): LuaTable {
  const lists = JSON.parse(Buffer.from(json, 'latin1').toString()) as string[][];
  return { items: lists.map((texts) => ({ items: texts.map((text) => Buffer.from(text).toString('latin1')) })) };
}
