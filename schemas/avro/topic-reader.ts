import type { Schema, Type } from 'avsc';
import { type AnyRecord, byTopic, type TopicName } from '../events/records.ts';
import { compileReader, type Read } from './avro-reader.ts';
import { parseOurs, topicSchemas, topicTypes } from './avro-types.ts';
import { holdsAll } from './holds-all.ts';
import { compileSpell, type Placed, type Spell } from './placed.ts';

/** Reads a topic's values that were written with one schema. */
export interface TopicReader {
  /** The length of the header in front of a value. */
  readonly headerBytes: number;
  /** Whether the decoded value has everything that the bytes have. False if the writer's schema has more than ours. */
  readonly holdsAll: boolean;
  /**
   * Reads a value, strictly, but leaves its texts in place (Cursor.place) and does not check that they are UTF-8. Null is
   * a tombstone, in a log that has tombstones as values.
   */
  readonly place: Read<Placed<AnyRecord> | null>;
  /** Decodes the texts of a value that `place` returned. */
  readonly spell: Spell<AnyRecord>;
}

const spells = byTopic((topic) => compileSpell<AnyRecord>(topicTypes[topic]));

/** Compiles a reader for a topic. Throws IncompatibleSchemaError. */
export function topicReader(topic: TopicName, writer: Type, headerBytes: number): TopicReader {
  const type = topicTypes[topic];
  return {
    headerBytes,
    holdsAll: holdsAll(writer, type),
    place: compileReader(writer, type, { textsInPlace: true }),
    spell: spells[topic],
  };
}

const archivedValueTypes = byTopic((topic) => parseOurs(['null', topicSchemas[topic]] as Schema));

/** Like topicReader, for the values in an archive: unions with null, whose types may have any names. */
export function archivedReader(topic: TopicName, writer: Type): TopicReader {
  return {
    headerBytes: 0,
    // An archive keeps what our schema does not hold in another field.
    holdsAll: true,
    place: compileReader(writer, archivedValueTypes[topic], { textsInPlace: true, anyName: true }),
    spell: spells[topic],
  };
}
