import type { Schema, Type } from 'avsc';
import { type AnyRecord, byTopic, type TopicName } from '../events/records.ts';
import { parseOurs, topicSchemas, topicTypes } from './avro-types.ts';
import { compileDecoder, type Decode } from './compile-decoder.ts';
import { holdsAll } from './holds-all.ts';
import { compileSpell, type Placed, type Spell } from './placed.ts';

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
}

const spells = byTopic((topic) => compileSpell<AnyRecord>(topicTypes[topic]));

/** Compiles a decoder for a topic. Throws IncompatibleSchemaError. */
export function topicDecoder(topic: TopicName, writer: Type, headerBytes: number): TopicDecoder {
  const type = topicTypes[topic];
  return {
    headerBytes,
    holdsAll: holdsAll(writer, type),
    place: compileDecoder(writer, type, { textsInPlace: true }),
    spell: spells[topic],
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
