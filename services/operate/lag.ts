import { type Leading, readStoreState, type StoreState } from '../../infra/redis/leadership/who-leads.ts';
import { inOrder } from '../../projector/leading/beginning.ts';
import type { LogBounds } from '../../projector/ports/event-log.ts';
import { reachedByAll } from '../../projector/position/position.ts';
import {
  parseStoredPosition,
  type StoredPosition,
  viewsOfAnotherLog,
} from '../../projector/position/settled-position.ts';
import { countText } from '../../projector/running/log.ts';
import { unknownSchemaWords } from '../../projector/status/unresolved-rejects.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { viewFormat } from '../../schemas/views/view-keys.ts';
import { openKafkaLog } from '../backends/open-kafka.ts';
import { closing } from '../cli/closing.ts';
import type { Run } from '../cli/commands.ts';
import { needKafka, needRedis, tell } from '../cli/io.ts';
import { lagUntil } from './lag-until.ts';

/**
 * Says how far the views are behind the log, and who leads. It reads Kafka and Redis, and touches neither views nor a
 * consumer group. Exit code 1 if no running projector leads some parts of the store, or if records of unknown schemas are set aside.
 */
export const runLag: Run<{ until?: string; timeout?: number }> = async (options, settings, io) => {
  const { json, until, timeout = 60 } = options;
  if (until !== undefined) return lagUntil(until, { json, timeout }, settings, io);
  const kafka = needKafka(settings, 'lag');
  const redis = needRedis(settings, 'lag');
  const store = await readStoreState(redis, io.signal);
  const log = openKafkaLog(kafka, settings, io);
  // One after the other: where Kafka is away, one line says so.
  const lag = await closing([log], async () => lagOf(await log.identity!(), await log.bounds(), store));
  tell(io, json, lag, linesOf(lag));
  return lag.parts_unled + lag.of_unknown_schemas > 0 ? 1 : 0;
};

function lagOf(identity: string, bounds: LogBounds, store: StoreState) {
  const { leaders, standbys, tagsUnled, otherFormats, positions, unreadableMs } = store;
  const written = writtenTo(positions, identity);
  const position = reachedByAll(written);
  if (position === null && positions.some(({ text }) => text !== null))
    throw new Error(`Cannot say how far the views are: ${viewsOfAnotherLog}`);
  const partitions = topicNames.flatMap((topic) =>
    bounds[topic].map(({ low, end }, partition) => {
      const at = position?.[topic][partition] ?? null;
      // Null: no projector has stored one for this log.
      return { topic, partition, position: at, end, lag: Math.max(0, end - Math.max(low, at ?? 0)) };
    }),
  );
  return {
    partitions,
    lag: partitions.reduce((sum, one) => sum + one.lag, 0),
    /** In seconds, as in the leader's metric. Null: every change is readable, or it is not known, since nobody leads. */
    oldest_unreadable_age: tagsUnled > 0 || unreadableMs === null ? null : unreadableMs / 1000,
    leaders: leaders.map(inParts),
    /** Ids of projectors that stand by. */
    standbys,
    /** Parts of the store that no running projector leads, as the API's metric counts them. */
    parts_unled: tagsUnled,
    /** Records of schemas that nobody knows, which are set aside and still the last of their key. */
    of_unknown_schemas: Math.max(0, ...written.map(({ ofUnknownSchemas = 0 }) => ofUnknownSchemas)),
    /** Other generations that a running projector leads. */
    other_generations: otherFormats,
  };
}

/**
 * The positions up to which the views are written, one for each projector; none where none is of this log. A projector
 * stores its position with each of its tags, at different moments. The furthest of these counts for all of its tags.
 */
function writtenTo(positions: StoreState['positions'], identity: string): StoredPosition[] {
  const ofOwners = new Map<string, StoredPosition[]>();
  for (const { owner, text } of positions) {
    const stored = parseStoredPosition(text);
    if (stored?.log === identity) ofOwners.set(owner, [...(ofOwners.get(owner) ?? []), stored]);
  }
  return [...ofOwners.values()].map((ofOwner) => inOrder(ofOwner).at(-1)!);
}

function linesOf({ partitions, leaders, standbys, ...lag }: ReturnType<typeof lagOf>): string[] {
  const { oldest_unreadable_age: age, parts_unled: unled } = lag;
  const rows = [
    ['partition', 'position', 'end', 'lag'],
    ...partitions.map(({ topic, partition, position, end, lag }) =>
      [`${topic}/${partition}`, position ?? 'none', end, lag].map(String),
    ),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  return [
    ...rows.map(line),
    oldestWords(age, unled, lag.lag),
    ...leaders.map(leaderLine),
    standbys.length > 0 ? `Standing by: ${standbys.join(', ')}` : 'Nobody stands by',
    ...(unled > 0
      ? [
          `No running projector leads ${unled} of 64 parts of generation ${viewFormat}, this version's. ` +
            'If projectors run, Redis takes no writes: it is full, or a replica',
        ]
      : []),
    ...[unknownSchemaWords(lag.of_unknown_schemas)].filter(Boolean),
    ...lag.other_generations.map(
      (generation) => `A projector leads generation ${generation}: ask the lag with its version`,
    ),
  ];
}

/** The ends are read after all else. What comes in between counts as lag, and so do offsets that hold no record. */
function oldestWords(age: number | null, unled: number, lag: number): string {
  if (unled > 0) return 'How old the oldest change not yet readable is: not known while nobody leads';
  if (age !== null) return `Oldest change not yet readable: ${age.toFixed(1)} s old`;
  return `Every change is readable${lag > 0 ? `, but for what has just come: ${countText(lag, 'offset')} at most` : ''}`;
}

/** A leader in an operator's words. */
export const inParts = ({ tags, ...leader }: Leading) => ({ ...leader, parts: tags });

function leaderLine({ epoch, parts, alive }: ReturnType<typeof inParts>): string {
  const since = new Date(epoch).toISOString();
  return `${alive ? 'Leads' : 'Led, and shows no sign of life'}: ${parts} of 64 parts since ${since}`;
}
