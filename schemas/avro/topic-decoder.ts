import type { Schema, Type, types } from 'avsc';
import { type AnyRecord, byTopic, type TopicName } from '../events/records.ts';
import { Cursor } from './avro-cursor.ts';
import { isArray, isEnum, isFixed, isRecord, isUnion } from './avro-type-kinds.ts';
import { parseOurs, topicSchemas, topicTypes } from './avro-types.ts';
import { compileDecoder, type Decode } from './compile-decoder.ts';
import { compileSpell, type Placed, type Spell } from './placed.ts';
import { kindOf, reasonOf, type UndecodableKind, type UndecodableReason } from './undecodable.ts';

/** Decodes a topic's values that were written with one schema. */
export interface TopicDecoder {
  /** The length of the header in front of a value. */
  readonly headerBytes: number;
  /** Whether the decoded value has everything that the bytes have. False if the writer's schema has more than ours. */
  readonly holdsAll: boolean;
  /**
   * Decodes a value, strictly, but leaves its texts in place (Cursor.place) and does not check that they are UTF-8. Null is
   * a tombstone, in a log that has tombstones as values.
   */
  readonly place: Decode<Placed<AnyRecord> | null>;
  /** Decodes the texts of a value that `place` returned. */
  readonly spell: Spell<AnyRecord>;
  /** Why a value cannot be decoded, with the field where that is found. Null: it can. */
  explain?(bytes: Buffer): UndecodableReason | null;
}

const cursor = new Cursor();

const spells = byTopic((topic) => compileSpell<AnyRecord>(topicTypes[topic]));

/** Compiles a decoder for a topic. Throws IncompatibleSchemaError. */
export function topicDecoder(topic: TopicName, writer: Type, headerBytes: number): TopicDecoder {
  const type = topicTypes[topic];
  let traced: Decode | null = null;
  return {
    headerBytes,
    holdsAll: holdsAll(writer, type),
    place: compileDecoder(writer, type, { textsInPlace: true }),
    spell: spells[topic],
    explain(bytes) {
      try {
        traced ??= compileDecoder(writer, type, { traced: true });
        traced(cursor.set(bytes, headerBytes));
        return cursor.pos === bytes.length ? null : `trailing bytes: ${bytes.length - cursor.pos} after the last field`;
      } catch (error) {
        return `${kindOf(reasonOf(error)) as UndecodableKind}: ${cursor.field}`;
      }
    },
  };
}

const archivedValueTypes = byTopic((topic) => parseOurs(['null', topicSchemas[topic]] as Schema));

/** Like topicDecoder, for the values in an archive: unions with null, whose types may have any names. */
export function archivedDecoder(topic: TopicName, writer: Type): TopicDecoder {
  return {
    headerBytes: 0,
    // An archive keeps what our schema does not hold in another field.
    holdsAll: true,
    place: compileDecoder(writer, archivedValueTypes[topic], { textsInPlace: true, anyName: true }),
    spell: spells[topic],
  };
}

const widened: Record<string, readonly string[]> = {
  long: ['int'],
  string: ['bytes'],
  bytes: ['string'],
};

/**
 * Whether the resolved record has everything that the writer's value has (docs/rules.md#raw-values). Fields that the
 * reader lacks are lost, and so are symbols that the enum's default replaces. In doubt the answer is no, which only
 * costs space.
 */
function holdsAll(writer: Type, reader: Type): boolean {
  if (isUnion(writer)) return writer.types.every((branch) => holdsAll(branch, reader));
  if (isUnion(reader)) return reader.types.some((branch) => holdsAll(writer, branch));
  if (isRecord(writer)) return isRecord(reader) && holdsFields(writer, reader);
  if (isEnum(writer)) return isEnum(reader) && writer.symbols.every((symbol) => reader.symbols.includes(symbol));
  if (isFixed(writer)) return isFixed(reader) && writer.size === reader.size;
  if (isArray(writer)) return isArray(reader) && holdsAll(writer.itemsType, reader.itemsType);
  return writer.typeName === reader.typeName || (widened[reader.typeName]?.includes(writer.typeName) ?? false);
}

function holdsFields(writer: types.RecordType, reader: types.RecordType): boolean {
  const wanted = new Map(reader.fields.map(({ name, type }) => [name, type]));
  return writer.fields.every(({ name, type }) => {
    const into = wanted.get(name);
    return into !== undefined && holdsAll(type, into);
  });
}
