import { kafkaLogEnds, type LogEnds } from '../infra/kafka/kafka-log-topics.ts';
import { type Leading, readStoreState, type StoreState } from '../infra/redis/redis-leadership.ts';
import { inOrder } from '../projector/leading/beginning.ts';
import type { Position } from '../projector/ports/event-log.ts';
import { nearest } from '../projector/position.ts';
import { parseStoredPosition, type StoredPosition } from '../projector/writing/settled-position.ts';
import type { Settings } from './settings/settings.ts';
import { type ExitCode, type Io, needKafka, needRedis } from './wiring/command/io.ts';
import { makeLogger } from './wiring/command/logger.ts';

/**
 * Says how far the views are behind the log, and who leads. It reads Kafka and Redis, and touches neither views nor a
 * consumer group. Exit code 1 if no running projector leads some tags.
 */
export async function runLag({ json = false }: { json?: boolean }, settings: Settings, io: Io): Promise<ExitCode> {
  const kafka = needKafka(settings, 'lag');
  const redis = needRedis(settings, 'lag');
  const { topicPrefix } = kafka;
  const store = await readStoreState(redis, io.signal);
  const ends = await kafkaLogEnds({ kafka, topicPrefix, log: makeLogger(settings), signal: io.signal });
  try {
    const lag = await lagOf(ends, store);
    if (json) io.out(JSON.stringify(lag));
    else for (const line of linesOf(lag)) io.out(line);
    return lag.tags_unled > 0 ? 1 : 0;
  } finally {
    await ends.close();
  }
}

async function lagOf(ends: LogEnds, { leaders, standbys, tagsUnled, positions }: StoreState) {
  const position = writtenTo(positions, ends.identity);
  const partitions = ends.partitions.map(({ topic, partition, low, end }) => {
    const at = position?.[topic][partition] ?? null;
    // Null: no projector has left one for this log.
    return { topic, partition, position: at, end, lag: Math.max(0, end - Math.max(low, at ?? 0)) };
  });
  const none = Object.fromEntries(ends.partitions.map(({ topic }) => [topic, [] as number[]])) as Position;
  const oldestMs = await ends.oldestAfter(position ?? none);
  const dead = leaders.filter(({ alive }) => !alive).reduce((tags, leader) => tags + leader.tags, 0);
  return {
    partitions,
    lag: partitions.reduce((sum, one) => sum + one.lag, 0),
    /** Seconds; null: every change is readable. */
    oldest_unreadable_age: oldestMs === null ? null : Math.max(0, Date.now() - oldestMs) / 1000,
    leaders,
    /** Ids of projectors that stand by. */
    standbys,
    /** Tags that no running projector leads. */
    tags_unled: tagsUnled + dead,
  };
}

/**
 * Up to where every tag's views are written; null where no position is of this log. A projector's tags store its position
 * at moments of their own: all before the furthest of them is written in all of them.
 */
function writtenTo(positions: StoreState['positions'], identity: string): Position | null {
  const ofOwners = new Map<string, StoredPosition[]>();
  for (const { owner, text } of positions) {
    const stored = parseStoredPosition(text);
    if (stored?.log === identity) ofOwners.set(owner, [...(ofOwners.get(owner) ?? []), stored]);
  }
  return nearest([...ofOwners.values()].map((ofOwner) => inOrder(ofOwner).at(-1)!));
}

function linesOf({
  partitions,
  oldest_unreadable_age: age,
  leaders,
  standbys,
  tags_unled: unled,
}: Awaited<ReturnType<typeof lagOf>>): string[] {
  const rows = [
    ['partition', 'position', 'end', 'lag'],
    ...partitions.map(({ topic, partition, position, end, lag }) => [
      `${topic}/${partition}`,
      `${position ?? 'none'}`,
      `${end}`,
      `${lag}`,
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  const oldest = age === null ? 'Every change is readable' : `Oldest change not yet readable: ${age.toFixed(1)} s old`;
  return [
    ...rows.map(line),
    oldest,
    ...leaders.map(leaderLine),
    standbys.length > 0 ? `Standing by: ${standbys.join(', ')}` : 'Nobody stands by',
    ...(unled > 0 ? [`No running projector leads ${unled} of 64 tags`] : []),
  ];
}

function leaderLine({ epoch, tags, alive }: Leading): string {
  const since = new Date(epoch).toISOString();
  return `${alive ? 'Leads' : 'Led, and shows no sign of life'}: ${tags} of 64 tags since ${since}`;
}
