import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ViewCache } from '../../api/calendar/view-cache.ts';
import type { ProjectorMetrics } from '../../projector/ports/metrics.ts';

/**
 * The process's Prometheus metrics. Labels are operations, statuses, topics and reasons: never ids, places or names.
 */
export function serviceMetrics() {
  const register = new Registry();
  collectDefaultMetrics({ register });
  const registers = [register];
  const answers = new Histogram({
    name: 'ride_calendar_http_answer_seconds',
    help: 'Time to answer a request of the interface, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2],
    registers,
  });
  const folded = new Counter({
    name: 'ride_calendar_folded_records_total',
    help: 'Records of the event log folded, by topic',
    labelNames: ['topic'],
    registers,
  });
  const rejected = new Counter({
    name: 'ride_calendar_rejected_records_total',
    help: 'Bad records met, by topic and reason',
    labelNames: ['topic', 'reason'],
    registers,
  });
  const regressed = new Counter({
    name: 'ride_calendar_revision_fell_total',
    help: 'Records whose revision is lower than the one before of their key, by topic',
    labelNames: ['topic'],
    registers,
  });
  const explained = new Counter({
    name: 'ride_calendar_partition_explained_records_total',
    help: 'Records in the partition that a partitioner gives their key, by topic and partitioner; neither: in none of the two',
    labelNames: ['topic', 'partitioner'],
    registers,
  });
  const views = new Counter({ name: 'ride_calendar_written_views_total', help: 'Views written', registers });
  const bytes = new Counter({ name: 'ride_calendar_written_bytes_total', help: 'Bytes of views written', registers });
  const freshness = new Histogram({
    name: 'ride_calendar_freshness_seconds',
    help: 'From taking a change in to its views being written',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  });
  const differing = new Counter({
    name: 'ride_calendar_reconciled_views_total',
    help: 'Views that differed from the facts when compared, and were mended',
    registers,
  });
  const projector: ProjectorMetrics = {
    folded: (topic, records) => folded.inc({ topic }, records),
    rejected: (topic, reason) => rejected.inc({ topic, reason }),
    revisionRegressed: (topic) => regressed.inc({ topic }),
    partitionExplained(topic, { murmur2, crc32, neither }) {
      explained.inc({ topic, partitioner: 'murmur2' }, murmur2);
      explained.inc({ topic, partitioner: 'crc32' }, crc32);
      explained.inc({ topic, partitioner: 'neither' }, neither);
    },
    written(count, size) {
      views.inc(count);
      bytes.inc(size);
    },
    freshness: (seconds) => freshness.observe(seconds),
    reconciled: (_tags, count) => differing.inc(count),
  };
  return {
    register,
    projector,
    answered: (operation: string, status: number, seconds: number): void =>
      answers.observe({ operation, status }, seconds),
    watchCache(cache: ViewCache): void {
      new Gauge({
        name: 'ride_calendar_cache_bytes',
        help: 'Views kept in this process',
        registers,
        collect() {
          this.set(cache.bytes);
        },
      });
    },
    watchProjector(isReady: () => boolean): void {
      new Gauge({
        name: 'ride_calendar_projector_ready',
        help: 'Whether the views stand at the ends sampled at the start',
        registers,
        collect() {
          this.set(isReady() ? 1 : 0);
        },
      });
    },
  };
}

export type ServiceMetrics = ReturnType<typeof serviceMetrics>;
