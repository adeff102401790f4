import { Fold } from '../../projector/facts/fold.ts';
import { PartitionWatch } from '../../projector/facts/partition-watch.ts';
import { Intake } from '../../projector/intake.ts';
import { realClock } from '../../projector/ports/clock.ts';
import type { LogBounds } from '../../projector/ports/event-log.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { noMetrics } from '../../projector/ports/metrics.ts';
import { PositionBarriers } from '../../projector/writing/settled-position.ts';
import { defaultPartitions } from '../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';

/** All that happens to a record once its bytes are in memory. */
export function freshIntake(): { intake: Intake; fold: Fold; partitions: PartitionWatch } {
  const fold = new Fold();
  const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Record<TopicName, number[]>;
  const bounds = Object.fromEntries(
    topicNames.map((topic) => [topic, Array(defaultPartitions[topic]).fill({ low: 0, end: 0 })]),
  ) as LogBounds;
  const { signal } = new AbortController();
  const barriers = new PositionBarriers(position);
  return {
    fold,
    partitions: new PartitionWatch(bounds, { log: silentLog, metrics: noMetrics }),
    intake: new Intake({ fold, sink: null, barriers, clock: realClock, log: silentLog, metrics: noMetrics, signal }),
  };
}
