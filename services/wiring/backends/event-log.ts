import { join } from 'node:path';
import { archiveEventLog } from '../../../infra/archive/archive-event-log.ts';
import { archiveRejectSink } from '../../../infra/archive/archive-reject-sink.ts';
import type { SchemaRegistry } from '../../../infra/registry/schema-registry.ts';
import type { EventLog, RejectSink } from '../../../projector/ports/event-log.ts';
import type { Log } from '../../../projector/ports/log.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import type { Settings } from '../../settings/settings.ts';
import { assertReadable } from './assert-readable.ts';
import { warnOfMissingTopics } from './missing-topics.ts';
import { ensureSampleArchive } from './sample-archive.ts';
import { type SimulatedArchive, simulatedMark } from './simulated-mark.ts';

export interface OpenLog {
  eventLog: EventLog;
  rejects: RejectSink;
  /** Where the log is, in words. */
  where: string;
  /**
   * The developer key and rider of a made-up log (the sample, or an archive that `simulate` made). Null for any other
   * log.
   */
  madeUp: Pick<SimulatedArchive, 'developerKey' | 'rider'> | null;
}

const noRegistry = { registry: null, close: async () => {} };

/** A registry whose schemas are stored beside the views, where these outlive the process. */
async function openRegistry(registry: SchemaRegistry, url: string, { redis }: Settings, log: Log) {
  if (!redis) return { registry, close: async () => {} };
  const [{ keptSchemas }, { redisSchemaTexts }] = await Promise.all([
    import('../../../infra/registry/kept-schemas.ts'),
    import('../../../infra/redis/redis-schema-texts.ts'),
  ]);
  const texts = await redisSchemaTexts(redis);
  const kept = keptSchemas({ registry, url }, texts, log);
  const closed = new AbortController();
  const running = kept.run(closed.signal);
  const close = async (): Promise<void> => {
    closed.abort();
    await texts.close();
    await running;
  };
  return { registry: kept, close };
}

/**
 * Opens the event log that the settings name: Kafka, an archive, or the sample archive, which is made if it does not
 * exist.
 */
export async function openEventLog(
  settings: Settings,
  log: Log,
  onAnswer: (request: string, seconds: number) => void = () => {},
): Promise<OpenLog> {
  const { kafka } = settings;
  if (kafka) {
    // Half a second of a start that reads an archive: the client compiles its options' schemas when it is loaded.
    const [{ kafkaEventLog }, { kafkaRejectSink }, { schemaRegistry }] = await Promise.all([
      import('../../../infra/kafka/kafka-event-log.ts'),
      import('../../../infra/kafka/kafka-reject-sink.ts'),
      import('../../../infra/registry/schema-registry.ts'),
    ]);
    const { topicPrefix, group, schemaRegistryUrl: url } = kafka;
    const { registry, close } = url ? await openRegistry(schemaRegistry({ url }), url, settings, log) : noRegistry;
    const writers = new WriterSchemas();
    const eventLog = kafkaEventLog({ kafka, topicPrefix, group, writers, registry, log, onAnswer });
    return {
      eventLog: { ...eventLog, close: () => Promise.all([eventLog.close(), close()]).then(() => {}) },
      rejects: kafkaRejectSink({ kafka, topicPrefix, log }),
      where: `Kafka at ${kafka.brokers.join(', ')}`,
      madeUp: null,
    };
  }
  const { topicPrefix: prefix, dataDir } = settings;
  const sample = settings.archiveDir
    ? null
    : await ensureSampleArchive({ dataDir, prefix, now: settings.nowMs ?? Date.now() });
  const dir = settings.archiveDir ?? sample!.dir;
  warnOfMissingTopics(dir, prefix, log);
  await assertReadable(dir, prefix, sample !== null, log);
  return {
    eventLog: archiveEventLog({ dir, prefix, log }),
    rejects: archiveRejectSink({ dir, prefix, fallbackDir: join(dataDir, 'rejected'), log }),
    where: sample ? 'a made-up sample calendar' : `the archive ${dir}`,
    madeUp: sample ?? (await simulatedMark(dir, prefix)),
  };
}
