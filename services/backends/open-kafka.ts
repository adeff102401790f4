import type { SimulatedArchive } from '../../infra/archive/format/archive-manifest.ts';
import { commandGiveUpMs, untilAnswered } from '../../infra/kafka/client/logged-back-off.ts';
import { kafkaEventLog } from '../../infra/kafka/log/kafka-event-log.ts';
import { kafkaPublisher } from '../../infra/kafka/publishing/kafka-publisher.ts';
import { kafkaRejectSink } from '../../infra/kafka/publishing/kafka-reject-sink.ts';
import type { EventLog, RejectSink } from '../../projector/ports/event-log.ts';
import type { LogPublisher } from '../../projector/ports/log-publisher.ts';
import type { Log } from '../../projector/running/log.ts';
import { Stop } from '../../projector/running/stop.ts';
import type { Partitioners } from '../../schemas/events/partitioner.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { closeAll, closing } from '../cli/closing.ts';
import type { Io } from '../cli/io.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';
import { declaredPartitions } from './declared-partitions.ts';
import { knownSchemas, openSchemas } from './known-schemas.ts';
import type { PublishTarget, TargetRecord } from './publishing.ts';

/** An event log that a projector can fold, with where it is and whose it is. */
export interface OpenLog {
  eventLog: EventLog;
  /** Null: an archive keeps bad records where they are. */
  rejects: RejectSink | null;
  /** How its producers map keys to partitions. */
  partitioners: Partitioners;
  /** Where the log is, in words. */
  where: string;
  /** Developer key and rider of a made-up log: the sample, or what `simulate` made. Null for any other. */
  madeUp: SimulatedArchive | null;
}

/** What runs while a log is open: its log lines, and what stops it. */
interface Running {
  log: Log;
  signal: AbortSignal;
  /** It waits for Kafka as long as that takes. */
  goesOn?: boolean;
}

/**
 * Opens the event log in Kafka to read it: no positions are committed. Once the signal aborts, nothing is waited for.
 * `writers` collects the schemas that are used.
 */
export function openKafkaLog(
  kafka: KafkaSettings,
  settings: Settings,
  { log, signal, goesOn = false }: Running,
  writers = knownSchemas(settings),
): EventLog {
  const { topicPrefix } = kafka;
  const { source: schemas, close } = openSchemas(settings, writers, log, false);
  const limit = goesOn ? {} : { giveUpMs: commandGiveUpMs };
  const eventLog = kafkaEventLog({ kafka, topicPrefix, writers, schemas, log, group: null, signal, ...limit });
  return { ...eventLog, close: () => closeAll(eventLog, { close }) };
}

/** How long records in flight to Kafka may still take after the signal. */
const inHandMs = 1_000;

export function openKafkaPublisher(kafka: KafkaSettings, { log, signal }: Running): LogPublisher {
  const { topicPrefix } = kafka;
  return kafkaPublisher({ kafka, topicPrefix, log, signal: new Stop([signal], { finishMs: inHandMs }).ended });
}

/** Opens the log to publish to these topics, where the declared partitioner puts keys, once they were looked at. */
export async function openKafkaTarget(
  command: string,
  topics: readonly TopicName[],
  kafka: KafkaSettings,
  settings: Settings,
  io: Io,
): Promise<PublishTarget> {
  const log = openKafkaLog(kafka, settings, io);
  const looking = { log, partitioners: settings.partitioners, signal: io.signal };
  const partitionOf = await closing([log], () => declaredPartitions(command, topics, looking));
  const publisher = openKafkaPublisher(kafka, io);
  return {
    partitionOf,
    publish(topic, records) {
      const nowMs = Date.now();
      const sent = ({ partition, keyBytes: key, valueBytes: value, timestampMs = nowMs }: TargetRecord) => ({
        partition,
        key,
        value,
        timestampMs,
      });
      return publisher.publish(topic, records.map(sent));
    },
    complete: async () => {},
    close: () => publisher.close(),
  };
}

/** How often it is looked whether the view store has lost a schema. */
const keepAgainEveryMs = 2_000;

/**
 * Opens the event log for a projector. Its positions are committed to KAFKA_GROUP, for Kafka's own lag tools. Every
 * schema is kept beside the views before a record of it is delivered (docs/rules.md#kept-schemas).
 */
export function openProjectedKafka(
  kafka: KafkaSettings,
  settings: Settings,
  log: Log,
  onAnswer: (request: string, seconds: number) => void,
): OpenLog {
  const { topicPrefix, group } = kafka;
  const writers = knownSchemas(settings);
  const { source: schemas, kept, close } = openSchemas(settings, writers, log, true);
  const eventLog = kafkaEventLog({ kafka, topicPrefix, group, writers, schemas, log, onAnswer });
  // The view writer logs that the store is away.
  const again = setInterval(() => void kept?.keepAll().catch(() => undefined), keepAgainEveryMs);
  const stop = { close: async () => clearInterval(again) };
  return {
    eventLog: {
      ...eventLog,
      async follow(from, follower, signal) {
        const keep = async () => kept?.keepAll();
        await untilAnswered('Cannot store the schemas of writers', keep, { log, signal, who: 'the view store' }).catch(
          (cause) => {
            if (!signal.aborted) throw cause;
          },
        );
        await eventLog.follow(from, follower, signal);
      },
      judgesAnew: async () => (await kept?.knowsMore()) ?? false,
      close: () => closeAll(stop, eventLog, { close }),
    },
    rejects: kafkaRejectSink({ kafka, topicPrefix, log }),
    partitioners: settings.partitioners,
    where: `Kafka at ${kafka.brokers.join(', ')}`,
    madeUp: null,
  };
}
