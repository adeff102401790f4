"""Publishes records with confluent-kafka and fastavro. Copy `publish` and the folder schemas/events (docs/publishing.md).

KAFKA_BROKERS=127.0.0.1:9092 python3 docs/publish_example.py < docs/example-records.jsonl
"""
import functools, io, json, os, pathlib, sys
from datetime import datetime, time
from confluent_kafka import KafkaException, Producer
from fastavro import schemaless_writer
from fastavro.schema import fingerprint, load_schema, to_parsing_canonical_form

SCHEMAS = pathlib.Path(__file__).parent.parent / "schemas/events"
PREFIX = os.environ.get("KAFKA_TOPIC_PREFIX", "ride-calendar.")
producer = Producer({
    "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092"),
    "enable.idempotence": True,
    "partitioner": "murmur2_random",  # as Java's. librdkafka's own default would need KAFKA_PARTITIONER=crc32
})


@functools.cache
def schema_of(topic):
    """The topic's schema, and the ten bytes in front of a value: C3 01, and the CRC-64-AVRO of the schema."""
    schema = load_schema(SCHEMAS / f"{topic}.avsc")
    crc = fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO")
    return schema, b"\xc3\x01" + bytes.fromhex(crc)


def publish(topic, key, record):
    """Returns once the record is durable. `record` None: a tombstone."""
    value, failed = None, []
    if record is not None:
        schema, header = schema_of(topic)
        schemaless_writer(buffer := io.BytesIO(), schema, record, strict_allow_default=True)
        value = header + buffer.getvalue()
    producer.produce(PREFIX + topic, key=key, value=value, on_delivery=lambda error, _: error and failed.append(error))
    producer.flush()
    if failed:
        raise KafkaException(failed[0])


def from_json(name, value):
    """fastavro takes Python's own types. A datetime must have its zone: one without is taken for this machine's."""
    read = {"changed_at": datetime.fromisoformat, "meet_time": time.fromisoformat, "key_hash": bytes.fromhex}.get(name)
    return read(value) if read and value else value


for line in sys.stdin:
    change = json.loads(line)
    value = change["value"]
    publish(change["topic"], change["key"], value and {name: from_json(name, of) for name, of in value.items()})
