import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import type { KafkaSettings, Settings } from '../settings/settings.ts';
import { archiveSave } from '../wiring/archive/archive-save.ts';
import { openKafkaLog } from '../wiring/backends/open-kafka-log.ts';
import type { Io } from '../wiring/command/io.ts';
import { makeLogger } from '../wiring/command/logger.ts';
import { percentOf, showProgress } from '../wiring/command/progress.ts';

/** Copies what Kafka holds now to an archive in an empty folder, without a consumer group. */
export async function copyKafka(dir: string, kafka: KafkaSettings, settings: Settings, io: Io): Promise<void> {
  const writers = new WriterSchemas();
  const log = openKafkaLog(kafka, makeLogger(settings), null, io.signal, writers);
  const progress = await showProgress(io, 'Read from Kafka', 100);
  try {
    await archiveSave(log, async () => [], dir, {
      prefix: kafka.topicPrefix,
      signal: io.signal,
      schemaOf: (value) => writers.named(value),
      onProgress: percentOf(progress),
    });
  } finally {
    progress.stop();
    await log.close();
  }
}
