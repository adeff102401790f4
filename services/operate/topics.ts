import { ensureTopics, type TopicReport, type TopicsOptions } from '../../infra/kafka/topics/ensure-topics.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { type ExitCode, type Io, needKafka } from '../cli/io.ts';
import { makeLogger } from '../cli/logger.ts';
import type { Settings } from '../settings/settings.ts';

interface TopicsCommandOptions {
  partitions?: number;
  replicationFactor?: number;
  /** Report only, create nothing. */
  check?: boolean;
  json?: boolean;
}

/** Creates missing topics, and reports how the others differ. Exit code 1 if one is missing or would lose records. */
export async function runTopics(options: TopicsCommandOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const kafka = needKafka(settings, 'topics');
  const { check, partitions, replicationFactor } = options;
  const wanted: TopicsOptions = { kafka, topicPrefix: kafka.topicPrefix, create: !check, log: makeLogger(settings) };
  if (partitions !== undefined) wanted.partitions = partitions;
  if (replicationFactor !== undefined) wanted.replicationFactor = replicationFactor;
  const reports = await ensureTopics(wanted);
  if (options.json) io.out(JSON.stringify({ topics: reports }));
  else for (const report of reports) for (const line of linesOf(report)) io.out(line);
  const wrong = reports.some(({ state, differences }) => state === 'missing' || differences.some((d) => d.harmful));
  return wrong ? 1 : 0;
}

function linesOf({ topic, state, partitions, differences }: TopicReport): string[] {
  const head = `${topic}: ${state}, ${partitions} partition${partitions === 1 ? '' : 's'}`;
  const lines = differences.map(({ setting, value, wanted, harmful }) => {
    // A topic with records keeps its number of partitions: with another one, a key would be in two partitions.
    // Kafka then takes records whose timestamps hold compaction up (docs/alerts.md#recordsfromthefuture).
    const holdsUp = setting === 'message.timestamp.after.max.ms' && Number(value) > Number(wanted);
    const fix = harmful || holdsUp ? 'set it with kafka-configs --alter' : 'works all the same; leave it';
    return `  ${setting} is ${foreignText(value) || 'unset'}, wanted ${wanted}: ${fix}`;
  });
  return [head, ...lines];
}
