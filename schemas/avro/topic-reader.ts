import type { Type } from 'avsc';
import type { AnyRecord, Attendance, Relation, TopicName } from '../events/records.ts';
import { compileReader, type Placed, type Read } from './avro-reader.ts';
import { topicTypes } from './avro-types.ts';
import { holdsAll } from './holds-all.ts';

/** What reads a topic's values that were written by one schema. */
export interface TopicReader {
  /** A value begins after so many bytes. */
  readonly headerBytes: number;
  /** Whether what it reads is all that the value says: false where the writer's schema has more than ours. */
  readonly holdsAll: boolean;
  /** Reads a value, strictly. */
  readonly read: Read<AnyRecord>;
  /**
   * As `read`, for the two large topics: but texts are left where they lie (Cursor.place), and not checked to be UTF-8.
   * Null for the others.
   */
  readonly place: Read<Placed<Attendance> | Placed<Relation>> | null;
}

/** Compiles the reader of a topic. Throws IncompatibleSchemaError. */
export function topicReader(topic: TopicName, writer: Type, headerBytes: number): TopicReader {
  const type = topicTypes[topic];
  const isLarge = topic === 'attendance' || topic === 'relations';
  return {
    headerBytes,
    holdsAll: holdsAll(writer, type),
    read: compileReader(writer, type),
    place: isLarge ? compileReader(writer, type, { textsInPlace: true }) : null,
  };
}
