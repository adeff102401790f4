// Publishes records with kafka-clients and avro, from Maven. Run it where schemas/events is:
//   KAFKA_BROKERS=127.0.0.1:9092 java -cp 'jars/*' docs/PublishExample.java
import java.io.File;
import java.nio.ByteBuffer;
import java.time.*;
import java.util.*;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.*;
import org.apache.avro.message.BinaryMessageEncoder;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

class PublishExample {
  static final String prefix = System.getenv().getOrDefault("KAFKA_TOPIC_PREFIX", "ride-calendar.");
  // acks=all, idempotence and murmur2 are Java's defaults.
  static final KafkaProducer<String, ByteBuffer> producer = new KafkaProducer<>(
      Map.of("bootstrap.servers", System.getenv("KAFKA_BROKERS")), new StringSerializer(), new ByteBufferSerializer());
  static final Map<String, Schema> schemas = new HashMap<>();
  static final GenericData types = new GenericData();

  static { // LocalDate, LocalTime and Instant for days, times and instants
    types.addLogicalTypeConversion(new TimeConversions.DateConversion());
    types.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
    types.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
  }

  static Schema schemaOf(String topic) throws Exception {
    if (!schemas.containsKey(topic))
      schemas.put(topic, new Schema.Parser().parse(new File("schemas/events/" + topic + ".avsc")));
    return schemas.get(topic);
  }

  /** Returns once the record is durable. A tombstone's record is null. */
  static void publish(String topic, String key, GenericRecord record) throws Exception {
    ByteBuffer value = record == null ? null : new BinaryMessageEncoder<GenericRecord>(types, schemaOf(topic)).encode(record);
    producer.send(new ProducerRecord<>(prefix + topic, key, value)).get();
  }

  public static void main(String[] args) throws Exception {
    var schema = schemaOf("nights");
    var meeting = new GenericRecordBuilder(schema.getField("meeting").schema().getTypes().get(1))
        .set("place_name", "Kenton Park").set("district", "kenton").set("secret", false).set("show_neighbourhood", true);
    var night = new GenericRecordBuilder(schema)
        .set("ride", "taco").set("day", LocalDate.parse("2026-11-24")).set("meet_time", LocalTime.parse("18:30"))
        .set("status", new GenericData.EnumSymbol(schema.getField("status").schema(), "ON")).set("meeting", meeting.build())
        .set("url", "https://rides.example/taco/2026-11-24")
        .set("revision", 1L).set("changed_at", Instant.parse("2026-11-01T09:00:00Z"));
    publish("nights", "taco/2026-11-24", night.build());
    publish("nights", "taco/2026-11-24", null);
    producer.close();
  }
}
