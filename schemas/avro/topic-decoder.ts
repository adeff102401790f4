import type { Schema, Type } from 'avsc';
import { type AnyRecord, byTopic, type TopicName } from '../events/records.ts';
import { Cursor } from './avro-cursor.ts';
import { parseOurs, topicSchemas, topicTypes } from './avro-types.ts';
import { compileDecoder, type Decode } from './compile-decoder.ts';
import { compileSpell, type Placed, type Spell } from './placed.ts';
import { kindOf, reasonOf, type UndecodableKind, type UndecodableReason } from './undecodable.ts';

/** Decodes a topic's values that were written with one schema. */
export interface TopicDecoder {
  /** The length of the header in front of a value. */
  readonly headerBytes: number;
  /** Whether the decoded value has everything that the bytes have (docs/rules.md#raw-values). In doubt not, which only costs space. */
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
  let holdsAll = true;
  const onLoss = (): void => {
    holdsAll = false;
  };
  const place = compileDecoder<Placed<AnyRecord>>(writer, type, { textsInPlace: true, onLoss });
  return {
    headerBytes,
    holdsAll,
    place,
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
