import type { Type, types } from 'avsc';
import type { Cursor } from './avro-cursor.ts';
import {
  assertDepth,
  isArray,
  isEnum,
  isFixed,
  isMap,
  isRecord,
  isSameKind,
  isUnion,
  nameOf,
  takesBytes,
  type Union,
  unqualified,
} from './avro-type-kinds.ts';
import { IncompatibleSchemaError, undecodable } from './undecodable.ts';

/** Decodes one value at the cursor. Throws UndecodableError. */
export type Decode<T = unknown> = (cursor: Cursor) => T;

interface DecoderOptions {
  /** Named types match whatever their names. For files of tools that choose type names themselves. */
  anyName?: boolean;
  /** Texts are left in place and not checked. For each the decoder returns the result of Cursor.place. */
  textsInPlace?: true;
  /** The outermost record's field of this name stays in place as a whole, whatever its type. */
  fieldInPlace?: string;
  /** The decoder says in `Cursor.field` at which field it is. */
  traced?: true;
  /** Called while it is compiled, where the writer has what the reader lacks: a field, an enum's symbol, a union's branch. */
  onLoss?: () => void;
}

/**
 * Compiles a decoder for values that were written with one schema (the writer's) and are wanted in another (the reader's;
 * docs/rules.md#schema-versions; Avro specification 1.12, "Schema Resolution"). Fields that the reader lacks are skipped,
 * the reader's defaults fill in, numbers and texts are promoted. If only some values do not fit
 * (a union's branch, an enum's symbol), decoding fails for those values. If none fits, this throws
 * IncompatibleSchemaError. It throws a plain error for a schema that nests too deeply.
 *
 * avsc's own resolvers refuse a schema if only some values do not fit. Its decoders accept invalid booleans, ints that are
 * too wide and broken UTF-8, and let an array's count fill the memory. So only avsc's parsed types are used here.
 */
export function compileDecoder<T>(writer: Type, reader: Type, options: DecoderOptions = {}): Decode<T> {
  return new DecoderCode(options).compile((code) => code.decode(writer, reader)) as Decode<T>;
}

/** Compiles a function that skips a value of a schema. The function throws UndecodableError for an invalid value. */
export function compileSkip(writer: Type): (cursor: Cursor) => void {
  return new DecoderCode({}).compile((code) => code.skip(writer)) as (cursor: Cursor) => void;
}

const badIndex = undecodable('undecodable value');

/** For each type that our schemas have, the writers' types that it accepts, and how they are decoded. */
const promotions: Record<string, Record<string, string>> = {
  null: { null: 'null' },
  boolean: { boolean: 'c.boolean()' },
  int: { int: 'c.int()' },
  long: { int: 'c.int()', long: 'c.long64()' },
  string: { string: 'c.string()', bytes: 'c.string()' },
  bytes: { bytes: 'c.bytes()', string: 'c.bytes()' },
};

const primitiveSkips: Record<string, string> = {
  null: '',
  boolean: 'c.skip(1)',
  int: 'c.skipNumber()',
  long: 'c.skipNumber()',
  float: 'c.skip(4)',
  double: 'c.skip(8)',
  string: 'c.skip(c.long())',
  bytes: 'c.skip(c.long())',
};

/** Decoding of a record's fields. It counts as a step if a field needs a function call. */
const counted = (fields: string): string => (/\bf_\d+\(/.test(fields) ? `c.enter(); ${fields} c.leave();` : fields);

/**
 * JavaScript for one decoder: expressions over a cursor `c`, constants `k`, and a function per record, array or union.
 */
class DecoderCode {
  readonly #options: DecoderOptions;
  readonly #constants: unknown[] = [];
  readonly #functions: string[] = [];
  /** Names of functions by what they read, so that a recursive type ends. */
  readonly #names = new Map<Type, Map<Type | null, string>>();
  /** What was named, in order: an attempt that fails removes its names again. */
  readonly #named: [Type, Type | null][] = [];
  /** Pairs that do not match, so that unions of unions are not tried in every combination. */
  readonly #failed = new Map<Type, Map<Type | null, IncompatibleSchemaError>>();
  readonly #path: string[] = [];
  #count = 0;
  #depth = 0;

  constructor(options: DecoderOptions) {
    this.#options = options;
  }

  compile(emit: (code: this) => string): unknown {
    const expression = emit(this);
    // The text contains only our own field names and numbers. Nothing of a writer's schema is executed.
    const text = `'use strict';\n${this.#functions.join('\n')}\nreturn (c) => ${expression || 'undefined'};`;
    return new Function('k', text)(this.#constants);
  }

  decode(writer: Type, reader: Type): string {
    if (isUnion(writer)) return this.#decodeUnion(writer, reader);
    if (isUnion(reader)) {
      const attempts = reader.types.map((branch) => this.#attempt(() => this.decode(writer, branch)));
      return attempts.find((each) => typeof each === 'string') ?? this.#refuse(attempts, writer, reader);
    }
    const promotion = isSameKind(writer, reader) ? promotions[reader.typeName]?.[writer.typeName] : undefined;
    if (promotion === 'c.string()' && this.#options.textsInPlace) return 'c.place()';
    if (promotion !== undefined) return promotion;
    if (isRecord(writer) && isRecord(reader)) {
      return this.#function(writer, reader, () => this.#recordBody(writer, reader));
    }
    if (isEnum(writer) && isEnum(reader)) return this.#decodeEnum(writer, reader);
    if (isFixed(writer) && isFixed(reader)) {
      this.#needSameName(writer, reader);
      if (writer.size === reader.size) return `c.fixed(${reader.size})`;
    }
    if (isArray(writer) && isArray(reader)) {
      return this.#function(writer, reader, () => {
        const item = this.decode(writer.itemsType, reader.itemsType);
        const loop = `for (let n; (n = c.blockCount(${takesBytes(writer.itemsType)})) !== 0; )`;
        return `const items = []; ${loop} while (n-- > 0) items.push(${item}); return items;`;
      });
    }
    if (isMap(writer) && isMap(reader)) {
      return this.#function(writer, reader, () => {
        const value = this.decode(writer.valuesType, reader.valuesType);
        const loop = `for (let n; (n = c.blockCount(true)) !== 0; )`;
        // A key may be `__proto__`.
        return `const map = Object.create(null); ${loop} while (n-- > 0) map[c.string()] = ${value}; return { ...map };`;
      });
    }
    throw this.#mismatch(writer, reader);
  }

  /** A statement that moves the cursor over a value. */
  skip(writer: Type): string {
    const primitive = primitiveSkips[writer.typeName];
    if (primitive !== undefined) return primitive;
    if (isEnum(writer)) return 'c.skipNumber()';
    if (isFixed(writer)) return `c.skip(${writer.size})`;
    return this.#function(writer, null, () => {
      if (isUnion(writer)) return this.#branches(writer.types.map((branch) => `${this.skip(branch)}; return;`));
      if (isRecord(writer)) {
        return counted(writer.fields.map((field) => `${this.skip(field.type)};`).join(' '));
      }
      const items = isArray(writer) ? writer.itemsType : (writer as types.MapType).valuesType;
      const key = isArray(writer) ? '' : 'c.skip(c.long()); ';
      const loop = `for (let n; (n = c.blockCount(${key !== '' || takesBytes(items)})) !== 0; )`;
      return `${loop} while (n-- > 0) { ${key}${this.skip(items)}; }`;
    });
  }

  #decodeUnion(writer: Union, reader: Type): string {
    return this.#function(writer, reader, () => {
      const attempts = writer.types.map((branch) => this.#attempt(() => this.decode(branch, reader)));
      if (attempts.every((each) => typeof each !== 'string')) this.#refuse(attempts, writer, reader);
      if (attempts.some((each) => typeof each !== 'string')) this.#options.onLoss?.();
      const refusal = ({ message }: Error) =>
        `throw ${this.#constant(undecodable(`incompatible writer schema: ${message}`))};`;
      return this.#branches(attempts.map((each) => (typeof each === 'string' ? `return ${each};` : refusal(each))));
    });
  }

  #branches(statements: string[]): string {
    const cases = statements.map((statement, index) => `case ${index}: ${statement}`);
    return `switch (c.int()) { ${cases.join(' ')} default: throw ${this.#constant(badIndex)}; }`;
  }

  #decodeEnum(writer: types.EnumType, reader: types.EnumType): string {
    this.#needSameName(writer, reader);
    const fallback = (reader as { default?: string }).default ?? null;
    const symbols = writer.symbols.map((symbol) => (reader.symbols.includes(symbol) ? symbol : fallback));
    if (!writer.symbols.every((symbol) => reader.symbols.includes(symbol))) this.#options.onLoss?.();
    const refusal = undecodable(`unknown enum symbol: ${this.#at}want one of ${reader.symbols.join(', ')}`);
    return `c.symbol(${this.#constant(symbols)}, ${this.#constant(refusal)})`;
  }

  /**
   * Decodes the writer's fields in the writer's order, then makes an object with the reader's fields in the reader's
   * order.
   */
  #recordBody(writer: types.RecordType, reader: types.RecordType): string {
    const statements: string[] = [];
    const sources = reader.fields.map(({ name }) => writer.fields.find((field) => field.name === name));
    for (const field of writer.fields) {
      const wantedBy = sources.indexOf(field);
      this.#path.push(field.name);
      const at = `field ${this.#path.join('.')}: want ${nameOf(field.type)}`;
      if (this.#options.traced) statements.push(`c.field = ${JSON.stringify(at)};`);
      if (wantedBy < 0) {
        this.#options.onLoss?.();
        statements.push(`${this.skip(field.type)};`);
      } else if (this.#depth === 1 && reader.fields[wantedBy]!.name === this.#options.fieldInPlace) {
        const skip = this.skip(field.type);
        statements.push(`const s${wantedBy} = c.pos; ${skip}; const f${wantedBy} = c.placeFrom(s${wantedBy});`);
      } else statements.push(`const f${wantedBy} = ${this.decode(field.type, reader.fields[wantedBy]!.type)};`);
      this.#path.pop();
    }
    const members = reader.fields.map((field, index) => {
      const source = sources[index];
      const value = source ? `f${sources.indexOf(source)}` : this.#defaultOf(field);
      return `${JSON.stringify(field.name)}: ${value}`;
    });
    return `${counted(statements.join(' '))} return { ${members.join(', ')} };`;
  }

  #defaultOf(field: types.Field): string {
    const value: unknown = field.defaultValue();
    if (value === undefined) {
      const missing = [...this.#path, field.name].join('.');
      throw new IncompatibleSchemaError(`field ${missing} is missing, and has no default`, this.#path.length);
    }
    if (value === null) return 'null';
    // A new default each time, because the caller may change it.
    return `${this.#constant(() => field.defaultValue())}()`;
  }

  /** Enums and fixed types match by their unqualified name. */
  #needSameName(writer: Type, reader: Type): void {
    if (this.#options.anyName || unqualified(writer.name ?? '') === unqualified(reader.name ?? '')) return;
    throw this.#mismatch(writer, reader);
  }

  #mismatch(writer: Type, reader: Type): IncompatibleSchemaError {
    const why = `${this.#at}want ${nameOf(reader)}, got ${nameOf(writer)}`;
    return new IncompatibleSchemaError(why, this.#path.length);
  }

  get #at(): string {
    return this.#path.length > 0 ? `field ${this.#path.join('.')}: ` : '';
  }

  /** Of several attempts that failed, the one that got furthest says why. */
  #refuse(attempts: readonly (string | IncompatibleSchemaError)[], writer: Type, reader: Type): never {
    const failed = attempts.filter((each) => typeof each !== 'string');
    const deepest = failed.find(({ depth }) => depth > this.#path.length);
    throw deepest ?? this.#mismatch(writer, reader);
  }

  #constant(value: unknown): string {
    return `k[${this.#constants.push(value) - 1}]`;
  }

  #function(writer: Type, reader: Type | null, body: () => string): string {
    const failed = this.#failed.get(writer)?.get(reader);
    if (failed) throw failed;
    const names = this.#names.get(writer) ?? new Map<Type | null, string>();
    this.#names.set(writer, names);
    let name = names.get(reader);
    if (name === undefined) {
      name = `f_${this.#count++}`;
      names.set(reader, name);
      this.#named.push([writer, reader]);
      // The body comes first: an attempt inside it may truncate the list.
      const text = `function ${name}(c) { ${this.#body(writer, reader, body)} }`;
      this.#functions.push(text);
    }
    return `${name}(c)`;
  }

  #body(writer: Type, reader: Type | null, body: () => string): string {
    assertDepth(++this.#depth);
    try {
      return body();
    } catch (error) {
      if (error instanceof IncompatibleSchemaError) {
        const byReader = this.#failed.get(writer) ?? new Map<Type | null, IncompatibleSchemaError>();
        this.#failed.set(writer, byReader.set(reader, error));
      }
      throw error;
    } finally {
      this.#depth--;
    }
  }

  /** Why, if the schemas do not match. What was emitted so far is then removed. */
  #attempt(emit: () => string): string | IncompatibleSchemaError {
    const [functions, named, depth] = [this.#functions.length, this.#named.length, this.#path.length];
    try {
      return emit();
    } catch (error) {
      if (!(error instanceof IncompatibleSchemaError)) throw error;
      this.#functions.length = functions;
      this.#path.length = depth;
      for (const [writer, reader] of this.#named.splice(named)) this.#names.get(writer)!.delete(reader);
      return error;
    }
  }
}
