import type { Type } from 'avsc';
import { compileReader, IncompatibleSchemaError, type Read } from './avro-reader.ts';
import { furtherSchemaTexts, parseWriter, topicTypes } from './avro-types.ts';
import { type AnyRecord, type TopicName, topicNames } from './records.ts';
import { fingerprintKey, singleObjectHeader } from './single-object.ts';
import type { UndecodableReason } from './undecodable.ts';

/** A reader of a topic's records, or why the writer's schema gives none. */
export type WriterReader = Read<AnyRecord> | UndecodableReason;

/** What a registry knows of a schema id. */
export type RegisteredSchema =
  /** `references`: texts of the schemas that it names, each after those it needs itself. */
  { schema: string; references: readonly string[] } | { bad: UndecodableReason };

/**
 * The writers' schemas known so far: by fingerprint, ours and those beside them; by registry id, what was looked up.
 * What each gives for a topic is worked out when a record first needs it.
 */
export class WriterSchemas {
  readonly #byFingerprint = new Map<string, Type>();
  readonly #byId = new Map<number, Type | UndecodableReason>();
  readonly #fingerprintReaders = emptyReaders<string>();
  readonly #idReaders = emptyReaders<number>();

  constructor() {
    for (const topic of topicNames) this.#addType(topicTypes[topic]);
    for (const text of furtherSchemaTexts) this.addKnown(text);
  }

  /** Makes a schema known by its fingerprint. Throws where the text is no Avro schema. */
  addKnown(text: string): void {
    this.#addType(parseWriter(text));
  }

  #addType(type: Type): void {
    this.#byFingerprint.set(fingerprintKey(singleObjectHeader(type)), type);
  }

  /** Keeps what the registry answered for an id, for ever. */
  addRegistered(id: number, registered: RegisteredSchema): void {
    this.#byId.set(id, 'bad' in registered ? registered.bad : parseRegistered(registered));
    // The id may have been bad before.
    for (const topic of topicNames) this.#idReaders[topic].delete(id);
  }

  /** Takes back an id whose answer is only good for a while. */
  forget(id: number): void {
    this.#byId.delete(id);
    for (const topic of topicNames) this.#idReaders[topic].delete(id);
  }

  has(id: number): boolean {
    return this.#byId.has(id);
  }

  byFingerprint(topic: TopicName, key: string): WriterReader {
    const known = this.#fingerprintReaders[topic].get(key);
    if (known !== undefined) return known;
    const type = this.#byFingerprint.get(key);
    // Not kept: anybody can send any number of unknown ones.
    if (type === undefined) return 'unknown fingerprint';
    const reader = readerOf(type, topic);
    this.#fingerprintReaders[topic].set(key, reader);
    return reader;
  }

  /** undefined: the id has to be looked up first. */
  byId(topic: TopicName, id: number): WriterReader | undefined {
    const known = this.#idReaders[topic].get(id);
    if (known !== undefined) return known;
    const type = this.#byId.get(id);
    if (type === undefined) return undefined;
    const reader = typeof type === 'string' ? type : readerOf(type, topic);
    this.#idReaders[topic].set(id, reader);
    return reader;
  }
}

function emptyReaders<Key>(): Record<TopicName, Map<Key, WriterReader>> {
  return Object.fromEntries(topicNames.map((topic) => [topic, new Map()])) as Record<TopicName, Map<Key, WriterReader>>;
}

function parseRegistered(registered: { schema: string; references: readonly string[] }): Type | UndecodableReason {
  try {
    return parseWriter(registered.schema, registered.references);
  } catch {
    return 'unusable writer schema';
  }
}

function readerOf(writer: Type, topic: TopicName): WriterReader {
  try {
    return compileReader<AnyRecord>(writer, topicTypes[topic]);
  } catch (error) {
    if (error instanceof IncompatibleSchemaError) return 'incompatible writer schema';
    // A schema nested without end overflows the stack.
    return 'unusable writer schema';
  }
}
