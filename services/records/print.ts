import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { whyBad } from '../../projector/intake/validator.ts';
import { decoded, type LogRecord } from '../../projector/ports/decoded-record.ts';
import type { EncodedRecord, EventLog, LogBatch } from '../../projector/ports/event-log.ts';
import { clampedMs } from '../../schemas/events/instants.ts';
import { byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Run } from '../cli/commands.ts';
import { instantOf } from '../cli/instant-texts.ts';
import { type ExitCode, UsageError } from '../cli/io.ts';
import { type ChosenLog, withLog } from '../serve/open-event-log.ts';
import { showLine } from './json-lines/json-line.ts';

interface PrintOptions {
  archive?: string;
  topic?: TopicName[];
  key?: string[];
  /** Only records with this timestamp, or a later one. */
  from?: string;
  follow?: boolean;
}

/** Prints the log's good records as JSON Lines, which `records publish` takes; bad ones to standard error, with the reason. */
export const runPrint: Run<PrintOptions> = async (options, settings, io) => {
  const { topic: topics = topicNames, key: keys, follow = false } = options;
  const fromMs =
    options.from === undefined ? Number.NEGATIVE_INFINITY : instantOf('records print', '--from', options.from);
  const print = (record: EncodedRecord): void => {
    const { topic, partition, offset } = record;
    if (clampedMs(record.timestampMs) < fromMs || (keys && !keys.includes(String(record.keyBytes)))) return;
    const reason = whyBad(record);
    if (reason !== null) return void io.err(JSON.stringify({ topic, partition, offset, reason }));
    const { key, value } = decoded(record) as LogRecord;
    io.out(showLine(topic, key, value));
  };
  const onBatch = async ({ topic, records }: LogBatch): Promise<void> => {
    if (!topics.includes(topic)) return;
    for (const record of records) print(record);
    await io.taken();
  };
  const run = async (log: EventLog, { kafka, where }: ChosenLog): Promise<ExitCode> => {
    if (follow && !kafka) throw new UsageError(`Cannot run records print --follow: ${where} does not grow, want Kafka`);
    const bounds = await log.bounds();
    const from = byTopic((topic) => bounds[topic].map(({ low, end }) => (topics.includes(topic) ? low : end)));
    if (follow) await log.follow(from, { onBatch }, io.signal);
    else await followToEnds(log, from, bounds, io.signal, onBatch);
    return 0;
  };
  return withLog('records print', options.archive, settings, io, run, follow);
};
