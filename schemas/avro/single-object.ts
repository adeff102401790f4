import type { Type } from 'avsc';

/**
 * Avro's single-object encoding: `C3 01`, the CRC-64-AVRO fingerprint of the writer's schema as 8 bytes little-endian,
 * the value (specification 1.12, "Single-object encoding").
 */
export const singleObjectHeaderBytes = 10;

/** Confluent's wire format: `00`, the schema's id in 4 bytes, the value. */
export const confluentHeaderBytes = 5;

const emptyFingerprint = 0xc15d213aa4d7a795n;

const crcTable: readonly bigint[] = Array.from({ length: 256 }, (_, byte) => {
  let crc = BigInt(byte);
  for (let bit = 0; bit < 8; bit++) crc = (crc >> 1n) ^ (crc & 1n ? emptyFingerprint : 0n);
  return crc;
});

/**
 * CRC-64-AVRO (specification 1.12, "Schema fingerprints") of a schema's Parsing Canonical Form: full names; no docs, defaults,
 * aliases, logical types or spaces.
 */
export function fingerprintOf(type: Type, form: unknown = type.schema()): bigint {
  let crc = emptyFingerprint;
  for (const byte of Buffer.from(JSON.stringify(form)))
    crc = (crc >> 8n) ^ crcTable[Number((crc ^ BigInt(byte)) & 0xffn)]!;
  return crc;
}

/** The ten bytes in front of a value of this schema. */
export function singleObjectHeader(type: Type, form?: unknown): Buffer {
  const header = Buffer.from([0xc3, 0x01, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeBigUInt64LE(fingerprintOf(type, form), 2);
  return header;
}

/** The fingerprint in a header, in hexadecimal. A text, because a number cannot hold 64 bits. */
export function fingerprintIn(header: Buffer): string {
  return header.toString('hex', 2, singleObjectHeaderBytes);
}

/** The fingerprints that values of a schema may name: the specification's, and that of libraries that leave logical types in. */
export const fingerprintsOf = (type: Type, text: string): string[] => {
  const forms = [type.schema(), withLogicalTypes(type.schema(), JSON.parse(text))];
  return forms.map((form) => fingerprintIn(singleObjectHeader(type, form)));
};

type Node = Record<string, unknown>;

/** The canonical form as hamba/avro makes it: a primitive type with a logical type is an object of both. */
function withLogicalTypes(canonical: unknown, written: unknown): unknown {
  const { type, logicalType, fields } = written as Node;
  if (typeof type === 'object') return withLogicalTypes(canonical, type);
  if (typeof canonical === 'string') return logicalType ? { type: canonical, logicalType } : canonical;
  const inner = (part: unknown, i: number | string) => withLogicalTypes(part, (written as Node)[i]);
  if (Array.isArray(canonical)) return canonical.map(inner);
  const copy = { ...(canonical as Node) };
  for (const part of ['items', 'values']) if (part in copy) copy[part] = inner(copy[part], part);
  if (Array.isArray(copy.fields))
    copy.fields = copy.fields.map((field, i) => ({
      ...field,
      type: withLogicalTypes(field.type, (fields as Node[])[i]!.type),
    }));
  return copy;
}
