import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type { Log } from '../../../projector/running/log.ts';
import { race, Stop } from '../../../projector/running/stop.ts';
import { defaultPartitions } from '../../../schemas/events/partitioner.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { KafkaCluster } from '../client/kafka-cluster.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { kafkaJs } from '../client/kafka-js.ts';
import { describeError, untilAnswered } from '../client/logged-back-off.ts';
import { namingRight, refusalOf } from '../protocol/broker-refusal.ts';
import { topicSettings } from './topic-settings.ts';

const longMax = String(2n ** 63n - 1n);
const weekMs = 7 * 86_400_000;
const rejectedBytesMin = 4 << 20;
/** Room in a rejected record for the headers that name its place and reason. */
const rejectedHeaderBytes = 64 << 10;

/** A topic setting: its wanted value, and how another value compares. */
interface WantedSetting {
  name: string;
  value: string;
  /** `least`: a larger number is fine. */
  rule: 'equal' | 'least';
  /** Topics work without it. */
  optional?: boolean;
}

type TopicPlan = ReturnType<typeof topicsPlan>[number];

interface TopicDifference {
  /** `partitions` or the name of a setting. */
  setting: string;
  value: string;
  wanted: string;
  /** False if the topic works anyway, e.g. with another number of partitions (which must not be changed any more). */
  harmful: boolean;
}

export interface TopicReport {
  topic: string;
  /** What was found, or done. */
  state: 'created' | 'missing' | 'as planned' | 'different';
  partitions: number;
  differences: TopicDifference[];
}

export interface TopicsOptions {
  kafka: KafkaConnection;
  topicPrefix: string;
  log: Log;
  /** For riders, rides, nights, attendance and relations. By default 4, 4, 4, 8 and 8. */
  partitions?: number;
  /** The broker's default if absent. */
  replicationFactor?: number;
  /** True by default. False: only reports. */
  create?: boolean;
  /** Aborts waiting for Kafka: throws its reason. */
  signal?: AbortSignal;
}

const compacted: WantedSetting[] = [
  { name: 'cleanup.policy', value: 'compact', rule: 'equal' },
  // A key's last good record, and a tombstone, stay for a week: time to replace a bad record
  // (docs/rules.md#compaction, #last-good-record).
  { name: 'min.compaction.lag.ms', value: String(weekMs), rule: 'least' },
  { name: 'delete.retention.ms', value: String(weekMs), rule: 'least' },
  // Archives use the writer's timestamps.
  { name: 'message.timestamp.type', value: 'CreateTime', rule: 'equal' },
  // Segments roll by size alone: Kafka measures their age by the records' own timestamps, and those of loaded old data
  // are long past.
  { name: 'segment.ms', value: longMax, rule: 'least', optional: true },
  { name: 'segment.bytes', value: String(64 << 20), rule: 'equal', optional: true },
  // A producer of nanoseconds learns it at once (docs/rules.md#timestamps).
  { name: 'message.timestamp.after.max.ms', value: String(86_400_000), rule: 'equal', optional: true },
];

/** The nine topics and their settings. `rejectedBytesMax`: the size of the largest record that `rejected` must accept. */
function topicsPlan(topicPrefix: string, partitions: number | undefined, rejectedBytesMax: number) {
  const facts = topicNames.map((name) => ({
    topic: topicPrefix + name,
    partitions: defaultPartitions[name] === 1 ? 1 : (partitions ?? defaultPartitions[name]),
    settings: compacted,
  }));
  const rejected: WantedSetting[] = [
    { name: 'cleanup.policy', value: 'delete', rule: 'equal' },
    { name: 'retention.ms', value: '-1', rule: 'equal' },
    { name: 'retention.bytes', value: '-1', rule: 'equal' },
    { name: 'max.message.bytes', value: String(rejectedBytesMax), rule: 'least' },
  ];
  return [...facts, { topic: `${topicPrefix}rejected`, partitions: 1, settings: rejected }];
}

/** Creates missing topics, says how others differ, and changes none. Throws if Kafka refuses or does not answer. */
export async function ensureTopics(options: TopicsOptions): Promise<TopicReport[]> {
  const { kafka, topicPrefix, partitions, create = true, log } = options;
  const cluster = new KafkaCluster(kafka);
  const done = new Stop([options.signal]);
  const { signal } = done;
  const admin = kafkaJs(kafka, log, signal).admin();
  try {
    const names = [...topicNames, 'rejected'].map((name) => topicPrefix + name);
    // Together: Kafka still tells of a topic that is being deleted, and then has no settings of it.
    const look = async () => {
      const found = await cluster.topics(names);
      const there = new Map(found.map((topic) => [topic.name, topic]));
      await admin.connect();
      return { there, settings: await topicSettings(admin, [...there.keys()]) };
    };
    const { there, settings } = await untilAnswered('Cannot look up the topics', look, { log, signal });
    const plans = topicsPlan(topicPrefix, partitions, rejectedBytesMax(settings));
    const missing = plans.filter(({ topic }) => !there.has(topic));
    if (create && missing.length > 0) {
      await race(signal, createTopics(admin, missing, options.replicationFactor ?? -1));
      const names = missing.map(({ topic }) => topic);
      await race(signal, untilTopicsExist(cluster, names));
    }
    return plans.map((plan) => {
      const topic = there.get(plan.topic);
      if (topic) return report(plan, topic.partitions.length, settings.get(plan.topic)!);
      const state = create ? 'created' : 'missing';
      return { topic: plan.topic, state, partitions: plan.partitions, differences: [] };
    });
  } finally {
    done.end();
    await cluster.close();
  }
}

async function createTopics(admin: Admin, plans: readonly TopicPlan[], replicationFactor: number): Promise<void> {
  const topics = plans.map(({ topic, partitions, settings }) => ({
    topic,
    numPartitions: partitions,
    replicationFactor,
    configEntries: settings.map(({ name, value }) => ({ name, value })),
  }));
  try {
    await admin.createTopics({ topics, waitForLeaders: false });
  } catch (cause) {
    const names = plans.map(({ topic }) => topic).join(', ');
    const named = namingRight(cause, `Create on topic ${names}`);
    throw new Error(`Cannot create the topics ${names}: ${refusalOf(named, 'Kafka') ?? describeError(cause)}`, {
      cause: named,
    });
  }
}

/** Brokers take a moment to know new topics and their leaders. Throws after 30 s. */
export async function untilTopicsExist(cluster: KafkaCluster, names: readonly string[]): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const topics = await cluster.topics(names).catch(() => []);
    if (topics.length === names.length && topics.every(({ partitions }) => partitions.every(({ node }) => node !== -1)))
      return;
    if (performance.now() > deadlineMs)
      throw new Error(`Cannot create ${names.join(', ')}: Kafka does not know them after 30 s`);
    await sleep(50);
  }
}

/** A rejected record has more headers than the original, so `rejected` accepts larger records than other topics. */
function rejectedBytesMax(settings: ReadonlyMap<string, ReadonlyMap<string, string>>): number {
  const largest = [...settings]
    .filter(([topic]) => !topic.endsWith('rejected'))
    .map(([, values]) => Number(values.get('max.message.bytes') ?? 0));
  return Math.max(rejectedBytesMin, ...largest.map((bytes) => bytes + rejectedHeaderBytes));
}

function report(plan: TopicPlan, partitions: number, values: ReadonlyMap<string, string>): TopicReport {
  const differences: TopicDifference[] = [];
  if (partitions !== plan.partitions) {
    const [value, wanted] = [String(partitions), String(plan.partitions)];
    differences.push({ setting: 'partitions', value, wanted, harmful: false });
  }
  for (const { name, value: wanted, rule, optional = false } of plan.settings) {
    const value = values.get(name) ?? '';
    const isEnough = rule === 'least' && Number(value) >= Number(wanted);
    if (value === wanted || isEnough) continue;
    differences.push({ setting: name, value, wanted, harmful: !optional });
  }
  const state = differences.length === 0 ? 'as planned' : 'different';
  return { topic: plan.topic, state, partitions, differences };
}
