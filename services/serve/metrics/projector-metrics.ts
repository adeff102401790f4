import type { Registry } from 'prom-client';
import { badReasons } from '../../../projector/intake/reasons.ts';
import type { ProjectorMetrics } from '../../../projector/ports/metrics.ts';
import type { Projector } from '../../../projector/projector.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { waitReasons } from '../../../projector/status/waits.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { factKinds } from '../../../schemas/views/view-kinds.ts';
import { metricsIn, serverBuckets } from './process-metrics.ts';

/** In seconds, up to a minute. */
const freshnessBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

// `foreign`: a key that is no view.
const faultyKinds = [...factKinds, 'reader', 'foreign'];

type MeasuredProjector = Pick<Projector, 'ready' | 'status'>;

export function projectorMetrics(register: Registry) {
  const { counter, histogram, series, value } = metricsIn(register);
  const folded = counter('read_records_total', 'Records of the event log taken in, by topic', ['topic']);
  const rejected = counter('rejected_records_total', 'Rejected records read, by topic and reason', ['topic', 'reason']);
  const latest = new Map<string, { topic: TopicName; partition: number; latestMs: number }>();
  series(
    'timestamp_ahead_seconds',
    'How far the latest timestamp read of a partition lies in the future; 0: it does not',
    ['topic', 'partition'],
    (set) => {
      for (const { latestMs, ...labels } of latest.values()) set(labels, Math.max(0, latestMs - Date.now()) / 1000);
    },
  );
  const regressed = counter(
    'revision_fell_total',
    'Records whose revision is lower than the one before of their key, by topic',
    ['topic'],
  );
  const misplaced = counter(
    'misplaced_records_total',
    'Records in another partition than KAFKA_PARTITIONER gives their key, by topic',
    ['topic'],
  );
  for (const topic of topicNames) misplaced.inc({ topic }, 0);
  const views = counter('written_views_total', 'Views written');
  const bytes = counter('written_bytes_total', 'Bytes of views written');
  const compared = counter('compared_views_total', 'Views compared with the log: how far repairs have got');
  const differing = counter(
    'reconciled_views_total',
    'Views that differed from the log when compared, and were rewritten',
  );
  let allCheckedMs = 0;
  value(
    'all_checked_timestamp_seconds',
    'When the background comparison last had been through all parts of the store since the start; 0: not yet',
    () => allCheckedMs / 1000,
  );
  const faulty = counter(
    'faulty_views_total',
    'Views found wrong in the background though nothing was in flight, by kind',
    ['kind'],
  );
  for (const kind of faultyKinds) faulty.inc({ kind }, 0);
  const fresh = histogram(
    'freshness_seconds',
    'From the time of a batch’s first record to its changes being readable, for each batch since the start',
    freshnessBuckets,
  );
  const store = histogram(
    'store_write_seconds',
    'Round trips of the projector to the view store, by operation',
    serverBuckets,
    ['operation'],
  );
  const kafka = histogram(
    'kafka_request_seconds',
    'Round trips to Kafka, by request; a fetch waits there up to half a second for records',
    serverBuckets,
    ['request'],
  );
  const projector: ProjectorMetrics = {
    folded: (topic, records) => folded.inc({ topic }, records),
    timestamps(topic, partition, ms) {
      const place = `${topic}/${partition}`;
      latest.set(place, { topic, partition, latestMs: Math.max(ms, latest.get(place)?.latestMs ?? 0) });
    },
    rejected: (topic, reason) => rejected.inc({ topic, reason }),
    revisionRegressed: (topic) => regressed.inc({ topic }),
    misplaced: (topic, records) => misplaced.inc({ topic }, records),
    written(count, size) {
      views.inc(count);
      bytes.inc(size);
    },
    compared: (count) => compared.inc(count),
    reconciled: (count) => differing.inc(count),
    checkedAll(wallMs) {
      allCheckedMs = wallMs;
    },
    faulty: (kind) => faulty.inc({ kind }),
    readable: (seconds) => fresh.observe(seconds),
    storeAnswered: (operation, seconds) => store.observe({ operation }, seconds),
  };
  return {
    projector,
    kafkaAnswered: (request: string, seconds: number): void => kafka.observe({ request }, seconds),
    /** Adds gauges. Each scrape reads them from the projector that runs then. */
    measure(current: () => MeasuredProjector): void {
      const status = () => current().status();
      const age = (sinceMs: number | null): number => (sinceMs === null ? 0 : (realClock.nowMs() - sinceMs) / 1000);

      value('projector_ready', 'Whether the views stand at the ends sampled at the start', () =>
        Number(current().ready),
      );
      series('role', '1 for what the projector is: leader, or standby', ['role'], (set) => {
        for (const role of ['leader', 'standby']) set({ role }, Number(role === status().role));
      });
      value(
        'unreadable_age_seconds',
        'Age of the oldest change that is not yet readable, or may not be; 0: all are',
        () => age(status().unreadableSinceMs),
      );
      series('waiting_seconds', 'How long the projector has waited, by what for; 0: it does not', ['for'], (set) => {
        const { waits } = status();
        for (const reason of waitReasons) set({ for: reason }, age(waits.get(reason) ?? null));
      });
      const partition = ['topic', 'partition'];
      series(
        'partition_readable_offset',
        'The offset up to which everything of a partition is readable, as the leader knows it; absent while that is not known',
        partition,
        (set) => {
          for (const { topic, partition, readable } of status().partitions)
            if (readable !== null) set({ topic, partition }, readable);
        },
      );
      series('partition_end_offset', 'One more than a partition’s last offset known', partition, (set) => {
        for (const { topic, partition, end } of status().partitions) set({ topic, partition }, end);
      });
      value(
        'store_parts_in_repair',
        'How many of the store’s 64 parts have views that may be wrong, and are being compared with the log',
        () => status().tagsInRepair,
      );
      series(
        'unresolved_rejects',
        'Rejected records that are still the last of their key, by reason',
        ['reason'],
        (set) => {
          const { unresolvedRejects } = status();
          for (const reason of badReasons) set({ reason }, unresolvedRejects.get(reason) ?? 0);
        },
      );
      const what =
        '1: records of the topic were deleted since the views were made, or its cleanup.policy lets Kafka delete them';
      series('log_loses_records', what, ['topic'], (set) => {
        for (const topic of topicNames) set({ topic }, Number(status().deletedFrom.has(topic)));
      });
    },
  };
}
