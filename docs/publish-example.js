// Publishes records with kafkajs and avsc. Copy `publish` with what is above it, and the folder schemas/events.
//   KAFKA_BROKERS=127.0.0.1:9092 node docs/publish-example.js < docs/example-records.jsonl
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import avro from 'avsc';
import kafkajs from 'kafkajs';

const { KAFKA_BROKERS = '127.0.0.1:9092', KAFKA_TOPIC_PREFIX = 'ride-calendar.' } = process.env;
const createPartitioner = kafkajs.Partitioners.DefaultPartitioner; // murmur2
const kafka = new kafkajs.Kafka({ brokers: KAFKA_BROKERS.split(',') });
const producer = kafka.producer({ createPartitioner, idempotent: true, maxInFlightRequests: 1 });

const readBy = (toNumber) =>
  class extends avro.types.LogicalType {
    _toValue = toNumber;
  };
const logicalTypes = {
  date: readBy((text) => Date.parse(text) / 864e5), // '2026-11-24'
  'time-millis': readBy((text) => Date.parse(`1970-01-01T${text}Z`)), // '18:30'
  'timestamp-millis': readBy((text) => Date.parse(text)), // '2026-11-01T09:00:00Z'
};

const codecs = {};

/** A topic's schema, and the ten bytes before a value, which name it: C3 01, and its CRC-64-AVRO. */
function codecOf(topic) {
  const schema = JSON.parse(readFileSync(new URL(`../schemas/events/${topic}.avsc`, import.meta.url)));
  const type = avro.Type.forSchema(schema, { logicalTypes });
  let crc = 0xc15d213aa4d7a795n;
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1n) ^ (crc & 1n ? 0xc15d213aa4d7a795n : 0n);
  }
  const header = Buffer.from('c3010000000000000000', 'hex');
  header.writeBigUInt64LE(crc, 2);
  return { type, header };
}

/** Resolves once the record is durable. A tombstone's `record` is null. */
export async function publish(topic, key, record) {
  codecs[topic] ??= codecOf(topic);
  const { type, header } = codecs[topic];
  const value = record && Buffer.concat([header, type.toBuffer(record)]);
  await producer.send({ topic: KAFKA_TOPIC_PREFIX + topic, acks: -1, messages: [{ key, value }] });
}

await producer.connect();
for await (const line of createInterface({ input: process.stdin })) {
  const { topic, key, value } = JSON.parse(line);
  if (value?.key_hash) value.key_hash = Buffer.from(value.key_hash, 'hex');
  await publish(topic, key, value);
}
await producer.disconnect();
