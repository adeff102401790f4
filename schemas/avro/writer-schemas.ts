import type { Type } from 'avsc';
import { type TopicName, topicNames } from '../events/records.ts';
import { IncompatibleSchemaError } from './avro-reader.ts';
import { furtherSchemaTexts, parseWriter, topicSchemas, topicTypes } from './avro-types.ts';
import { confluentHeaderBytes, fingerprintKey, singleObjectHeader, singleObjectHeaderBytes } from './single-object.ts';
import { type TopicReader, topicReader } from './topic-reader.ts';
import type { UndecodableReason } from './undecodable.ts';

/** A reader of a topic's records, or why there is none for the writer's schema. */
export type WriterReader = TopicReader | UndecodableReason;

/** What a registry knows about a schema id. */
export type RegisteredSchema =
  /** `references`: texts of the schemas that it refers to, each after those that it refers to itself. */
  | { schema: string; references: readonly string[] }
  /** `untilMs`: when to ask again, in milliseconds since the epoch. If absent, never. */
  | { bad: UndecodableReason; untilMs?: number };

/** How a value names its writer's schema. */
export interface NamedSchema {
  /** The registry's id. Null: by fingerprint only. */
  id: number | null;
  /** The eight bytes of the single-object encoding's header, in hexadecimal. */
  fingerprint: string;
  schema: string;
  references: readonly string[];
}

/**
 * The writers' schemas known so far (docs/rules.md#unknown-schema): by fingerprint, ours and those in the folder; by
 * registry id, those looked up. A reader is compiled when a record first needs it.
 */
export class WriterSchemas {
  readonly #byFingerprint = new Map<string, Type>();
  readonly #byId = new Map<number, Type | UndecodableReason>();
  readonly #texts = new Map<string, string>();
  readonly #registered = new Map<number, { schema: string; references: readonly string[] }>();
  /** When to ask again for ids that the registry did not know. */
  readonly #badUntilMs = new Map<number, number>();
  readonly #nowMs: () => number;
  readonly #fingerprintReaders = emptyReaders<string>();
  readonly #idReaders = emptyReaders<number>();

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
    for (const topic of topicNames) this.#addType(topicTypes[topic], JSON.stringify(topicSchemas[topic]));
    for (const text of furtherSchemaTexts) this.addKnown(text);
  }

  /** Registers a schema by its fingerprint. Throws if the text is not an Avro schema. */
  addKnown(text: string): void {
    this.#addType(parseWriter(text), text);
  }

  #addType(type: Type, text: string): void {
    const key = fingerprintKey(singleObjectHeader(type));
    this.#byFingerprint.set(key, type);
    this.#texts.set(key, text);
  }

  /** The schema that a value's header names. Null if it is not known. */
  named(value: Buffer): NamedSchema | null {
    if (value[0] === 0xc3 && value.length >= singleObjectHeaderBytes) {
      const schema = this.#texts.get(fingerprintKey(value));
      const fingerprint = value.toString('hex', 2, singleObjectHeaderBytes);
      return schema === undefined ? null : { id: null, fingerprint, schema, references: [] };
    }
    if (value[0] !== 0x00 || value.length < confluentHeaderBytes) return null;
    const id = value.readInt32BE(1);
    const [registered, type] = [this.#registered.get(id), this.#byId.get(id)];
    if (!registered || !type || typeof type === 'string') return null;
    const fingerprint = singleObjectHeader(type).toString('hex', 2);
    return { id, fingerprint, ...registered };
  }

  /** Keeps the registry's answer for an id. */
  addRegistered(id: number, registered: RegisteredSchema): void {
    if ('bad' in registered) {
      this.#byId.set(id, registered.bad);
      this.#badUntilMs.set(id, registered.untilMs ?? Number.POSITIVE_INFINITY);
    } else {
      this.#byId.set(id, parseRegistered(registered));
      this.#registered.set(id, registered);
    }
  }

  byFingerprint(topic: TopicName, key: string): WriterReader {
    const known = this.#fingerprintReaders[topic].get(key);
    if (known !== undefined) return known;
    const type = this.#byFingerprint.get(key);
    // Not cached: anybody could send any number of unknown ones.
    if (type === undefined) return 'unknown fingerprint';
    const reader = readerOf(type, topic, singleObjectHeaderBytes);
    this.#fingerprintReaders[topic].set(key, reader);
    return reader;
  }

  /** Undefined: the id must be looked up first. */
  byId(topic: TopicName, id: number): WriterReader | undefined {
    const known = this.#idReaders[topic].get(id);
    if (known !== undefined) return known;
    const type = this.#byId.get(id);
    if (type === undefined) return undefined;
    if (typeof type === 'string') {
      const untilMs = this.#badUntilMs.get(id);
      return untilMs === undefined || this.#nowMs() < untilMs ? type : undefined;
    }
    const reader = readerOf(type, topic, confluentHeaderBytes);
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

function readerOf(writer: Type, topic: TopicName, headerBytes: number): WriterReader {
  try {
    return topicReader(topic, writer, headerBytes);
  } catch (error) {
    if (error instanceof IncompatibleSchemaError) return 'incompatible writer schema';
    // Too deep or too large.
    return 'unusable writer schema';
  }
}
