import { createRequire } from 'node:module';

/** What Lua and its host exchange. A string of Lua is a text with one unit for each byte; Buffers are strings too. */
export type LuaValue = null | boolean | number | string | Buffer | LuaTable;

/** A table: what is at 1, 2, … until the first nil, and what is at names. */
export interface LuaTable {
  items: readonly LuaValue[];
  names?: Record<string, LuaValue>;
}

/** What a function of the host throws to raise its cause, a table, as an error in Lua. */
export class LuaError extends Error {}

/** What is used of Lua's C functions, which take and return numbers, and of the memory that they share with us. */
type LuaModule = Record<
  | `_luaL_${'newstate' | 'openlibs' | 'loadbuffer'}`
  | `_lua_${'pcall' | 'gettop' | 'settop' | 'type' | 'toboolean' | 'tonumber' | 'tolstring' | 'next' | 'createtable'}`
  | `_lua_${'rawset' | 'rawseti' | 'pushvalue' | 'error'}`
  | `_lua_push${'nil' | 'boolean' | 'number' | 'lstring' | 'cclosure'}`
  | '_malloc'
  | '_free',
  (...args: number[]) => number
> & {
  HEAPU8: Uint8Array;
  HEAPU32: Uint32Array;
  addFunction(called: (state: number) => number, signature: string): number;
};

// The package's own types name files that it lacks. Its own conversions take strings for UTF-8; these do not.
const { LuaApi } = createRequire(import.meta.url)('wasmoon-lua5.1') as {
  LuaApi: { initialize(): Promise<{ module: LuaModule }> };
};
const { module: c } = await LuaApi.initialize();

// As in lua.h.
const type = { nil: 0, boolean: 1, number: 3, string: 4, table: 5 } as const;
const globals = -10002;

/** A Lua 5.1 of its own, with one main function. */
export class Lua {
  readonly #state: number = c._luaL_newstate();
  /** Where bytes are laid down for Lua to copy, and how many have room there. */
  #scratch = { at: c._malloc(65_536), bytes: 65_536 };
  #heap = Buffer.from(c.HEAPU8.buffer);
  /** What a function of the host threw that is no LuaError. Lua is unwound first, or it would go on in the midst of the call. */
  #fault: unknown = null;

  /** `source` returns the main function. `host`: functions of ours that it finds as globals. */
  constructor(source: string, host: Record<string, (args: LuaValue[]) => LuaValue>) {
    c._luaL_openlibs(this.#state);
    for (const [name, called] of Object.entries(host)) {
      this.#push(name);
      c._lua_pushcclosure(this.#state, this.#callable(called), 0);
      c._lua_rawset(this.#state, globals);
    }
    const { at, bytes } = this.#laidDown(Buffer.from(source));
    const failed = c._luaL_loadbuffer(this.#state, at, bytes, at) || c._lua_pcall(this.#state, 0, 1, 0);
    if (failed) throw new Error(`Cannot start Lua: ${String(this.#value(-1))}`);
  }

  /** Calls the main function. */
  call(args: readonly LuaValue[]): LuaValue {
    c._lua_pushvalue(this.#state, 1);
    for (const arg of args) this.#push(arg);
    const failed = c._lua_pcall(this.#state, args.length, 1, 0);
    const value = this.#value(-1);
    c._lua_settop(this.#state, 1);
    const fault = this.#fault;
    this.#fault = null;
    if (fault !== null) throw fault;
    if (failed) throw new Error(`Lua failed: ${String(value)}`);
    return value;
  }

  #callable(called: (args: LuaValue[]) => LuaValue): number {
    return c.addFunction(() => {
      const args = Array.from({ length: c._lua_gettop(this.#state) }, (_, i) => this.#value(i + 1));
      try {
        this.#push(called(args));
      } catch (cause) {
        if (!(cause instanceof LuaError)) this.#fault = cause;
        this.#push(cause instanceof LuaError ? (cause.cause as LuaTable) : String(cause));
        // Does not return: it throws what C's longjmp is here.
        c._lua_error(this.#state);
      }
      return 1;
    }, 'ii');
  }

  #push(value: LuaValue): void {
    if (value === null) c._lua_pushnil(this.#state);
    else if (typeof value === 'boolean') c._lua_pushboolean(this.#state, Number(value));
    else if (typeof value === 'number') c._lua_pushnumber(this.#state, value);
    else if (typeof value === 'string' || Buffer.isBuffer(value)) {
      const { at, bytes } = this.#laidDown(value);
      c._lua_pushlstring(this.#state, at, bytes);
    } else {
      c._lua_createtable(this.#state, value.items.length, 0);
      for (const [i, item] of value.items.entries()) {
        this.#push(item);
        c._lua_rawseti(this.#state, -2, i + 1);
      }
      for (const [name, named] of Object.entries(value.names ?? {})) {
        this.#push(name);
        this.#push(named);
        c._lua_rawset(this.#state, -3);
      }
    }
  }

  #laidDown(text: string | Buffer): { at: number; bytes: number } {
    const bytes = text.length;
    if (bytes > this.#scratch.bytes) {
      c._free(this.#scratch.at);
      this.#scratch = { at: c._malloc(2 * bytes), bytes: 2 * bytes };
    }
    const { at } = this.#scratch;
    const heap = this.#memory;
    if (typeof text === 'string') heap.write(text, at, 'latin1');
    else heap.set(text, at);
    return { at, bytes };
  }

  #value(index: number): LuaValue {
    switch (c._lua_type(this.#state, index)) {
      case type.nil:
        return null;
      case type.boolean:
        return c._lua_toboolean(this.#state, index) === 1;
      case type.number:
        return c._lua_tonumber(this.#state, index);
      case type.string: {
        const lengthAt = this.#scratch.at;
        const at = c._lua_tolstring(this.#state, index, lengthAt);
        return this.#memory.toString('latin1', at, at + c.HEAPU32[lengthAt >> 2]!);
      }
      case type.table:
        return this.#table(index < 0 ? c._lua_gettop(this.#state) + index + 1 : index);
      default:
        throw new Error('Lua passed a function, a coroutine or user data to its host');
    }
  }

  #table(index: number): LuaTable {
    const items: LuaValue[] = [];
    const names: Record<string, LuaValue> = {};
    c._lua_pushnil(this.#state);
    while (c._lua_next(this.#state, index)) {
      const [key, value] = [this.#value(-2), this.#value(-1)];
      if (typeof key === 'number') items[key - 1] = value;
      else names[String(key)] = value;
      c._lua_settop(this.#state, -2);
    }
    const end = Array.from(items).indexOf(undefined as never);
    return { items: end < 0 ? items : items.slice(0, end), names };
  }

  /** Lua's memory grows, and is another array then. */
  get #memory(): Buffer {
    if (this.#heap.buffer !== c.HEAPU8.buffer) this.#heap = Buffer.from(c.HEAPU8.buffer);
    return this.#heap;
  }
}
