import { readManifest } from '../../../infra/archive/archive-manifest.ts';
import { selfContainedSchema } from '../../../infra/registry/self-contained-schema.ts';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import { confluentHeaderBytes } from '../../../schemas/avro/single-object.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { UsageError } from '../command/io.ts';

/** Registers a schema for a topic's values. Returns its id. */
export type Register = (topic: TopicName, schema: string) => Promise<number>;

interface WriterSchema {
  schema: string;
  references: readonly string[];
}

/**
 * The values that an archive keeps as they came (docs/rules.md#raw-values), in the Confluent wire format. Their schema
 * ids are those of the registry that they were written with. This replaces them by the target registry's.
 */
export class RawValues {
  readonly #schemas: ReadonlyMap<number, WriterSchema>;
  readonly #register: Register | null;
  readonly #ids = new Map<string, Promise<number>>();

  private constructor(schemas: ReadonlyMap<number, WriterSchema>, register: Register | null) {
    this.#schemas = schemas;
    this.#register = register;
  }

  /** Throws UsageError if the archive has such values and `register` is null. */
  static of(dir: string, register: Register | null): RawValues {
    const schemas = registeredSchemas(dir);
    if (schemas.size === 0 || register) return new RawValues(schemas, register);
    throw new UsageError(
      `Cannot load the archive: it holds values in the Confluent wire format, whose ${schemas.size} schemas have to be registered anew; set SCHEMA_REGISTRY_URL`,
    );
  }

  /** Whether a value names its schema by a registry's id. */
  names(value: Buffer | null): value is Buffer {
    return value !== null && value.length >= confluentHeaderBytes && value[0] === 0;
  }

  /** The value with the id that its schema has in the target's registry. */
  async registered(topic: TopicName, record: EncodedRecord, value: Buffer): Promise<Buffer> {
    const id = value.readUInt32BE(1);
    const writer = this.#schemas.get(id);
    if (writer && this.#register) {
      const changed = Buffer.from(value);
      changed.writeUInt32BE(await this.#newId(topic, id, writer, this.#register), 1);
      return changed;
    }
    // A bad record stays bad, whatever its id.
    if ('undecodable' in decoded(record)) return value;
    const place = `${topic}/${record.partition}@${record.offset}`;
    throw new UsageError(
      `Cannot load ${place} of the archive: its value's schema, of id ${id}, is not in manifest.json; put back the manifest that was saved with it`,
    );
  }

  #newId(topic: TopicName, id: number, { schema, references }: WriterSchema, register: Register): Promise<number> {
    const name = `${topic} ${id}`;
    let newId = this.#ids.get(name);
    if (!newId) {
      newId = register(topic, selfContainedSchema(schema, references));
      this.#ids.set(name, newId);
    }
    return newId;
  }
}

/** The schemas in an archive's manifest that have a registry id. */
function registeredSchemas(dir: string): Map<number, WriterSchema> {
  const schemas = readManifest(dir)?.schemas ?? [];
  return new Map(schemas.flatMap(({ id, ...writer }) => (id === null ? [] : [[id, writer] as const])));
}
