import type { Type } from 'avsc';
import { type TopicName, topicNames } from '../events/records.ts';
import { furtherSchemaTexts, parseWriter, topicSchemas, topicTypes } from './avro-types.ts';
import { IncompatibleSchemaError } from './compile-decoder.ts';
import { confluentHeaderBytes, fingerprintKey, singleObjectHeader, singleObjectHeaderBytes } from './single-object.ts';
import { type TopicDecoder, topicDecoder } from './topic-decoder.ts';
import type { UndecodableReason } from './undecodable.ts';

/** A decoder of a topic's records, or why there is none for the writer's schema. */
type WriterDecoder = TopicDecoder | UndecodableReason;

interface SchemaTexts {
  schema: string;
  /** Texts of the schemas that it refers to, each after those that it refers to itself. */
  references: readonly string[];
}

/** What a registry knows about a schema id. */
export type RegisteredSchema = SchemaTexts | { bad: UndecodableReason };

/** How long an id counts as unknown after the registry did not know it. */
const unknownForMs = 30_000;

/** How a value names its writer's schema. */
interface NamedSchema extends SchemaTexts {
  /** The registry's id. Null: by fingerprint only. */
  id: number | null;
  /** The eight bytes of the single-object encoding's header, in hexadecimal. */
  fingerprint: string;
}

/**
 * The writers' schemas known so far (docs/rules.md#unknown-schema): by fingerprint, ours and those in the folder; by
 * registry id, those looked up.
 */
export class WriterSchemas {
  readonly #byFingerprint = new Map<string, KnownSchema>();
  /** `untilMs`: when to ask again, in milliseconds since the epoch. */
  readonly #byId = new Map<number, KnownSchema | { bad: UndecodableReason; untilMs: number }>();

  constructor() {
    for (const topic of topicNames) this.#add(topicTypes[topic], JSON.stringify(topicSchemas[topic]));
    for (const text of furtherSchemaTexts) this.addKnown(text);
  }

  /** Registers a schema by its fingerprint. Throws if the text is not an Avro schema. */
  addKnown(text: string): void {
    this.#add(parseWriter(text), text);
  }

  #add(type: Type, schema: string): void {
    const known = new KnownSchema(type, { schema, references: [] }, singleObjectHeaderBytes);
    this.#byFingerprint.set(fingerprintKey(singleObjectHeader(type)), known);
  }

  /** Keeps the registry's answer for an id. */
  addRegistered(id: number, registered: RegisteredSchema): void {
    const known = 'bad' in registered ? registered : parsed(registered);
    const untilMs = 'bad' in known && known.bad === 'unknown schema id' ? performance.now() + unknownForMs : Infinity;
    this.#byId.set(id, 'bad' in known ? { ...known, untilMs } : known);
  }

  /** The schema that a value's header names. Null if it is not known. */
  named(value: Buffer): NamedSchema | null {
    let id: number | null = null;
    if (value[0] === 0x00 && value.length >= confluentHeaderBytes) id = value.readInt32BE(1);
    else if (value[0] !== 0xc3 || value.length < singleObjectHeaderBytes) return null;
    const known = id === null ? this.#byFingerprint.get(fingerprintKey(value)) : this.#byId.get(id);
    if (!(known instanceof KnownSchema)) return null;
    return { id, fingerprint: singleObjectHeader(known.type).toString('hex', 2), ...known.texts };
  }

  byFingerprint(topic: TopicName, key: string): WriterDecoder {
    // Nothing is kept of one that is unknown: anybody could send any number of them.
    return this.#byFingerprint.get(key)?.decoderOf(topic) ?? 'unknown fingerprint';
  }

  /** Undefined: the id must be looked up first. */
  byId(topic: TopicName, id: number): WriterDecoder | undefined {
    const known = this.#byId.get(id);
    if (known === undefined) return undefined;
    if (known instanceof KnownSchema) return known.decoderOf(topic);
    return performance.now() < known.untilMs ? known.bad : undefined;
  }
}

/** A writer's schema. A decoder is compiled when a record first needs it. */
class KnownSchema {
  readonly type: Type;
  readonly texts: SchemaTexts;
  readonly #headerBytes: number;
  readonly #decoders: Partial<Record<TopicName, WriterDecoder>> = {};

  constructor(type: Type, texts: SchemaTexts, headerBytes: number) {
    this.type = type;
    this.texts = texts;
    this.#headerBytes = headerBytes;
  }

  decoderOf(topic: TopicName): WriterDecoder {
    this.#decoders[topic] ??= this.#compiled(topic);
    return this.#decoders[topic];
  }

  #compiled(topic: TopicName): WriterDecoder {
    try {
      return topicDecoder(topic, this.type, this.#headerBytes);
    } catch (error) {
      if (error instanceof IncompatibleSchemaError) return 'incompatible writer schema';
      // Too deep or too large.
      return 'unusable writer schema';
    }
  }
}

function parsed(texts: SchemaTexts): KnownSchema | { bad: UndecodableReason } {
  try {
    return new KnownSchema(parseWriter(texts.schema, texts.references), texts, confluentHeaderBytes);
  } catch {
    return { bad: 'unusable writer schema' };
  }
}
