import {
  type LogBounds,
  MissingTopicsError,
  PartitionsChangedError,
  type Position,
} from '../../../projector/ports/event-log.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { byTopic, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import type { KafkaCluster, KafkaTopic } from '../client/kafka-cluster.ts';

/** The log's eight topics (docs/rules.md#topics), as first seen: notices one that was deleted, made again, or grew. */
export class LogTopics {
  readonly prefix: string;
  readonly #cluster: KafkaCluster;
  #first: ReadonlyMap<string, KafkaTopic> | null = null;
  /** Which topics have disappeared, and what to do, in words that everybody may read. Null: none. */
  gone: { words: string; sinceMs: number } | null = null;

  constructor(cluster: KafkaCluster, prefix: string) {
    this.#cluster = cluster;
    this.prefix = prefix;
  }

  shortName(topic: string): TopicName {
    return topic.slice(this.prefix.length) as TopicName;
  }

  /** The topics as they are now. Throws MissingTopicsError, PartitionsChangedError, and any error of Kafka. */
  async find(): Promise<KafkaTopic[]> {
    // `rejected` is not read, but if it is missing, the first bad record would stop everything.
    const rejected = `${this.prefix}rejected`;
    const names = [...topicNames.map((name) => this.prefix + name), rejected];
    const topics = await this.#cluster.topics(names);
    const there = new Map(topics.map((topic) => [topic.name, topic]));
    const missing = names.filter((name) => !there.has(name));
    if (this.#first) {
      for (const topic of topics) if (topic.name !== rejected) assertSame(this.#first.get(topic.name)!, topic);
      // Not fatal, since they were there: a broker that is starting takes a moment to know its topics.
      this.gone = goneNow(missing, rejected, this.gone);
      if (this.gone) throw new Error(this.gone.words);
    } else if (missing.length > 0)
      throw new MissingTopicsError(
        `Cannot read the event log: Kafka has no ${missing.join(', ')}; make them with: npx ride-calendar topics`,
      );
    this.#first ??= there;
    return topics.filter(({ name }) => name !== rejected);
  }

  /** Bounds of every partition, sampled now. */
  async bounds(): Promise<LogBounds> {
    const bounds = await this.#cluster.bounds(await this.find());
    return byTopic((name) => bounds.get(this.prefix + name)!);
  }

  /** The topics' own ids, in the order of our names. A recreated topic has another id. */
  async identity(): Promise<string> {
    const ids = new Map((await this.find()).map(({ name, id }) => [name, id]));
    return topicNames.map((name) => ids.get(this.prefix + name)).join(' ');
  }

  /** Throws PartitionsChangedError if a position and a topic differ in their number of partitions. */
  assertFits(topics: readonly KafkaTopic[], position: Position): void {
    for (const { name, partitions } of topics) {
      const expected = position[this.shortName(name)].length;
      if (partitions.length !== expected) throw partitionsChanged(name, expected, partitions.length);
    }
  }
}

function goneNow(missing: readonly string[], rejected: string, before: LogTopics['gone']): LogTopics['gone'] {
  if (missing.length === 0) return null;
  const make = `Kafka no longer has ${missing.join(', ')}; if that was deleted, make it with: npx ride-calendar topics`;
  const isFolded = missing.some((name) => name !== rejected);
  const words = `${make}${isFolded ? ', publish its entities there again, and start again, to read the new one from its start' : ''}`;
  return { words, sinceMs: before?.sinceMs ?? realClock.nowMs() };
}

function assertSame(first: KafkaTopic, now: KafkaTopic): void {
  const [before, after] = [first.partitions.length, now.partitions.length];
  if (now.id !== first.id)
    throw new PartitionsChangedError(
      `Cannot go on reading ${now.name}: it was deleted and made again, with ${after} partitions in place of ${before}. If a broker made it by itself (auto.create.topics.enable), delete it and create it with: npx ride-calendar topics; then start again, to read the new one from its start`,
    );
  if (after !== before) throw partitionsChanged(now.name, before, after);
}

const partitionsChanged = (name: string, before: number, after: number) =>
  PartitionsChangedError.withAdvice(`Cannot go on reading ${name}: it had ${before} partitions and has ${after}`);
