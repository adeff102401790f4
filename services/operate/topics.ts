import { ensureTopics, type TopicReport, type TopicsOptions } from '../../infra/kafka/topics/ensure-topics.ts';
import { foreignText } from '../../projector/running/foreign-text.ts';
import { countText } from '../../projector/running/log.ts';
import type { Run } from '../cli/commands.ts';
import { needKafka, tell } from '../cli/io.ts';

/** Creates missing topics, and reports how the others differ. Exit code 1 if one is missing or would lose records. */
export const runTopics: Run<Pick<TopicsOptions, 'partitions' | 'replicationFactor'> & { check?: boolean }> = async (
  { check, json, ...sizes },
  settings,
  io,
) => {
  const kafka = needKafka(settings, 'topics');
  const { topicPrefix } = kafka;
  const reports = await ensureTopics({ kafka, topicPrefix, create: !check, log: io.log, ...sizes });
  tell(io, json, { topics: reports }, reports.flatMap(linesOf));
  const wrong = reports.some(({ state, differences }) => state === 'missing' || differences.some((d) => d.harmful));
  return wrong ? 1 : 0;
};

function linesOf({ topic, state, partitions, differences }: TopicReport): string[] {
  const head = `${topic}: ${state}, ${countText(partitions, 'partition')}`;
  const lines = differences.map(({ setting, value, wanted, harmful }) => {
    // A topic with records keeps its number of partitions: with another one, a key would be in two partitions.
    // Kafka then takes records whose timestamps hold compaction up (docs/alerts.md#recordsfromthefuture).
    const holdsUp = setting === 'message.timestamp.after.max.ms' && Number(value) > Number(wanted);
    const others =
      setting === 'partitions' ? 'works if it was made so; if it grew, see docs/rules.md#partition-growth' : '';
    const fix = harmful || holdsUp ? 'set it with kafka-configs --alter' : others || 'works all the same; leave it';
    return `  ${setting} is ${foreignText(value) || 'unset'}, wanted ${wanted}: ${fix}`;
  });
  return [head, ...lines];
}
