import { type SchemaRegistry, schemaRegistry } from '../../../infra/registry/schema-registry.ts';
import { badRecord } from '../../../projector/facts/validator.ts';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { decodeKey, decodeValue } from '../../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { type AnyRecord, topicNames } from '../../../schemas/events/records.ts';

/** What this version makes of a bad record. */
export interface Judged {
  /** Why it is bad; null: it is good now. */
  reason: string | null;
  /** Null where they can't be read. */
  key: string | null;
  value: AnyRecord | null;
}

/** Judges bad records anew, as the projector would: a schema may be known by now, or a rule another. */
export class RejectJudge {
  readonly #writers = new WriterSchemas();
  readonly #registry: SchemaRegistry | null;
  readonly #signal: AbortSignal;

  constructor(schemaRegistryUrl: string | null, signal: AbortSignal) {
    this.#registry = schemaRegistryUrl === null ? null : schemaRegistry({ url: schemaRegistryUrl });
    this.#signal = signal;
  }

  async judge({ topic, raw }: Reject): Promise<Judged> {
    // Somebody else's record in the topic may name another.
    if (!topicNames.includes(topic)) return { reason: 'unknown topic', key: null, value: null };
    const decoded = decodeKey(raw.key);
    if ('bad' in decoded) return { reason: decoded.bad, key: null, value: null };
    const { key } = decoded;
    if (raw.value === null) return { reason: badRecord(topic, key, null), key, value: null };
    let read = decodeValue(topic, raw.value, this.#writers);
    if ('needs' in read) {
      if (!this.#registry) return { reason: 'unknown schema id', key, value: null };
      this.#writers.addRegistered(read.needs, await this.#registry.lookUp(read.needs, this.#signal));
      read = decodeValue(topic, raw.value, this.#writers);
    }
    if ('needs' in read) return { reason: 'unknown schema id', key, value: null };
    if ('bad' in read) return { reason: read.bad, key, value: null };
    return { reason: badRecord(topic, key, read.value), key, value: read.value };
  }
}
