"""Prints each probe's change as librdkafka hands it over: its key, its number, and the milliseconds of CLOCK_MONOTONIC."""

import sys
import time

from confluent_kafka import OFFSET_END, Consumer, TopicPartition

brokers, *topics = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": brokers, "group.id": "bare-librdkafka", "enable.auto.commit": False})
known = consumer.list_topics(timeout=10).topics
partitions = [TopicPartition(topic, index, OFFSET_END) for topic in topics for index in known[topic].partitions]
consumer.assign(partitions)
for each in partitions:
    consumer.position([each])
print("assigned", flush=True)
while True:
    message = consumer.poll(1)
    if message is None or message.error():
        continue
    at_ms = time.monotonic_ns() / 1e6
    headers = dict(message.headers() or [])
    if "seq" in headers:
        print(message.key().decode(), headers["seq"].decode(), at_ms, flush=True)
