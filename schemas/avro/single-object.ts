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
export function fingerprintOf(type: Type): bigint {
  let crc = emptyFingerprint;
  for (const byte of Buffer.from(JSON.stringify(type.schema())))
    crc = (crc >> 8n) ^ crcTable[Number((crc ^ BigInt(byte)) & 0xffn)]!;
  return crc;
}

/** The ten bytes in front of a value of this schema. */
export function singleObjectHeader(type: Type): Buffer {
  const header = Buffer.from([0xc3, 0x01, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeBigUInt64LE(fingerprintOf(type), 2);
  return header;
}

/** The fingerprint as a Map key. A text, because a number cannot hold 64 bits. */
export function fingerprintKey(bytes: Buffer): string {
  return bytes.toString('latin1', 2, singleObjectHeaderBytes);
}
