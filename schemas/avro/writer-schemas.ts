import type { Type } from 'avsc';
import { type TopicName, topicNames } from '../events/records.ts';
import { nameOf } from './avro-type-kinds.ts';
import { furtherSchemaTexts, parseWriter, topicSchemas, topicTypes } from './avro-types.ts';
import {
  confluentHeaderBytes,
  fingerprintIn,
  fingerprintsOf,
  singleObjectHeader,
  singleObjectHeaderBytes,
} from './single-object.ts';
import { type TopicDecoder, topicDecoder } from './topic-decoder.ts';
import { IncompatibleSchemaError, type UndecodableReason } from './undecodable.ts';

/** A decoder of a topic's records, or why there is none for the writer's schema. */
type WriterDecoder = TopicDecoder | UndecodableReason;

/** How a value names its writer's schema: by the registry's id, or by the fingerprint's eight bytes in hexadecimal. */
export type SchemaName = number | string;

export interface SchemaTexts {
  schema: string;
  /** Texts of the schemas that it refers to, each after those that it refers to itself. */
  references: readonly string[];
}

/** What is found of a schema by its name. `unknown`: nobody knows it. `unusable`: it is no Avro. */
export type FoundSchema = SchemaTexts | 'unknown' | 'unusable';

/** How long a schema counts as unknown after nobody knew it. */
const unknownForMs = 30_000;
/** How many known schemas a reason lists. */
const listedMax = 20;

/** How a value names its writer's schema. */
interface NamedSchema extends SchemaTexts {
  /** The registry's id. Null: by fingerprint only. */
  id: number | null;
  /** The eight bytes of the single-object encoding's header, in hexadecimal. */
  fingerprint: string;
}

const unusable = 'unusable writer schema';

/**
 * The writers' schemas known so far (docs/rules.md#unknown-schema): by fingerprint, ours, those in the folder, those of
 * WRITER_SCHEMAS and those found beside the views; by registry id, those looked up.
 */
export class WriterSchemas {
  /** A number: when to ask again for one that nobody knew, by `performance.now`. */
  readonly #found = new Map<SchemaName, KnownSchema | UndecodableReason | number>();
  #judgesAnew = false;

  constructor() {
    for (const topic of topicNames) this.#add(topicTypes[topic], JSON.stringify(topicSchemas[topic]), topic);
    for (const text of furtherSchemaTexts) this.addKnown(text);
  }

  /** Registers a schema by its fingerprints. Throws if the text is not an Avro schema. */
  addKnown(text: string): void {
    this.#add(parseWriter(text), text);
  }

  #add(type: Type, schema: string, of?: TopicName): void {
    for (const name of fingerprintsOf(type, schema))
      this.#found.set(name, knownSchema(type, { schema, references: [] }, name, of));
  }

  /** Keeps what was found of a name. A text counts as one of a fingerprint only if it has that fingerprint. */
  add(name: SchemaName, found: FoundSchema): void {
    const wasUnknown = typeof this.#found.get(name) === 'number';
    const now = found === 'unknown' ? performance.now() + unknownForMs : parsed(name, found);
    this.#found.set(name, now);
    this.#judgesAnew ||= wasUnknown && typeof now === 'object';
  }

  /** The texts of all that are known. */
  get known(): [SchemaName, SchemaTexts][] {
    return [...this.#found].flatMap(([name, known]) => (typeof known === 'object' ? [[name, known.texts]] : []));
  }

  /** Names that nobody knew. Each is of a record that is set aside, whose key takes as much room. */
  get unknown(): SchemaName[] {
    return [...this.#found].flatMap(([name, found]) => (typeof found === 'number' ? [name] : []));
  }

  /** Whether one that nobody knew was found since this was asked last. */
  judgesAnew(): boolean {
    const judges = this.#judgesAnew;
    this.#judgesAnew = false;
    return judges;
  }

  /** The schema that a value's header names. Null if it is not known. */
  named(value: Buffer): NamedSchema | null {
    const id = value[0] === 0x00 && value.length >= confluentHeaderBytes ? value.readInt32BE(1) : null;
    if (id === null && (value[0] !== 0xc3 || value.length < singleObjectHeaderBytes)) return null;
    const known = this.#found.get(id ?? fingerprintIn(value));
    if (typeof known !== 'object') return null;
    return { id, fingerprint: fingerprintIn(singleObjectHeader(known.type)), ...known.texts };
  }

  /** Undefined: it must be looked up first. */
  byName(topic: TopicName, name: SchemaName): WriterDecoder | undefined {
    const found = this.#found.get(name);
    if (typeof found === 'object') return found.decoderOf(topic);
    if (typeof found === 'number') return performance.now() < found ? this.whyUnknown(topic, name) : undefined;
    return found;
  }

  /** Why there is no decoder for a schema that nobody knows, and what its publisher can do (docs/rules.md#reasons). */
  whyUnknown(topic: TopicName, name: SchemaName): UndecodableReason {
    const known = [...this.#found].flatMap(([other, schema]) =>
      typeof other === typeof name && typeof (schema as KnownSchema).decoderOf?.(topic) === 'object' ? [other] : [],
    );
    const list = known.slice(0, listedMax).map(spelled).join(', ') || 'none';
    const ours = `schemas/events/${topic}.avsc`;
    if (typeof name === 'number')
      return `unknown schema id: got ${name}, which no registry (SCHEMA_REGISTRY_URL) has; known for ${topic}: ${list}. Register it there, or publish with C3 01 and the fingerprint of ${ours}`;
    return `unknown fingerprint: got ${spelled(name)}, which is in none of this release, WRITER_SCHEMAS and the view store; known for ${topic}: ${list}. Publish with ${ours} (${spelled(known[0]!)}), or put the writer's schema into WRITER_SCHEMAS`;
  }
}

/** A fingerprint as the ten bytes in front of a value. */
const spelled = (name: SchemaName): string => (typeof name === 'number' ? `${name}` : `c301${name}`);

interface KnownSchema {
  type: Type;
  texts: SchemaTexts;
  decoderOf(topic: TopicName): WriterDecoder;
}

/** A writer's schema. A decoder is compiled when a record first needs it. `ours`: the topic whose schema of ours it is. */
function knownSchema(type: Type, texts: SchemaTexts, name: SchemaName, ours?: TopicName): KnownSchema {
  const decoders: Partial<Record<TopicName, WriterDecoder>> = {};
  const compiled = (topic: TopicName): WriterDecoder => {
    try {
      return topicDecoder(topic, type, typeof name === 'number' ? confluentHeaderBytes : singleObjectHeaderBytes);
    } catch (error) {
      const kind = error instanceof IncompatibleSchemaError ? 'incompatible writer schema' : unusable;
      const of = ours ? ` of topic ${ours}` : '';
      return `${kind}: ${spelled(name)}, ${nameOf(type)}${of}: ${(error as Error).message}`;
    }
  };
  return { type, texts, decoderOf: (topic) => (decoders[topic] ??= compiled(topic)) };
}

function parsed(name: SchemaName, found: SchemaTexts | 'unusable'): KnownSchema | UndecodableReason | number {
  if (found === 'unusable') return `${unusable}: ${spelled(name)} is no Avro schema`;
  try {
    const type = parseWriter(found.schema, found.references);
    const isOfName = typeof name === 'number' || fingerprintsOf(type, found.schema).includes(name);
    return isOfName ? knownSchema(type, found, name) : performance.now() + unknownForMs;
  } catch {
    return `${unusable}: ${spelled(name)} is no Avro schema, or larger than any of ours`;
  }
}
