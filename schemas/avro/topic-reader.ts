import type { Type } from 'avsc';
import type { AnyRecord, Attendance, Relation, TopicName } from '../events/records.ts';
import { compileReader, type Placed, type Read } from './avro-reader.ts';
import { topicTypes } from './avro-types.ts';
import { holdsAll } from './holds-all.ts';

/** Reads a topic's values that were written with one schema. */
export interface TopicReader {
  /** The length of the header in front of a value. */
  readonly headerBytes: number;
  /** Whether the decoded value has everything that the bytes have. False if the writer's schema has more than ours. */
  readonly holdsAll: boolean;
  /** Reads a value, strictly. */
  readonly read: Read<AnyRecord>;
  /**
   * Like `read`, for the two large topics, but texts are left in place (Cursor.place) and not checked to be UTF-8. Null
   * for the other topics.
   */
  readonly place: Read<Placed<Attendance> | Placed<Relation>> | null;
}

/** Compiles a reader for a topic. Throws IncompatibleSchemaError. */
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
