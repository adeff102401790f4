import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { badReasons } from '../../../projector/facts/validator.ts';
import type { ProjectorMetrics } from '../../../projector/ports/metrics.ts';
import type { Projector } from '../../../projector/projector.ts';
import { waitReasons } from '../../../projector/watching/waits.ts';
import type { ProjectorStatus } from '../../../projector/watching/watching.ts';
import { factKinds } from '../../../schemas/views/view-keys.ts';
import { serverBuckets } from '../http/process-metrics.ts';

/** From the fastest that can be expected to a minute. */
const freshnessBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

// `foreign`: a key that is no view.
const faultyKinds = [...factKinds, 'reader', 'foreign'];

type WatchedProjector = Pick<Projector, 'ready' | 'status'>;

/** A projector's Prometheus metrics. */
export function projectorMetrics(register: Registry) {
  const registers = [register];
  const counted = countMetrics(registers);
  const measured = measureMetrics(registers);
  return {
    projector: { ...counted, ...measured.projector } satisfies ProjectorMetrics,
    kafkaAnswered: measured.kafkaAnswered,
    /** Gauges of the projector that is running when they are read. */
    watch: (current: () => WatchedProjector): void => watchMetrics(registers, current),
  };
}

function countMetrics(registers: Registry[]) {
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `ride_calendar_${name}`, help, labelNames, registers });
  const folded = counter('folded_records_total', 'Records of the event log folded, by topic', ['topic']);
  const rejected = counter('rejected_records_total', 'Bad records met, by topic and reason', ['topic', 'reason']);
  const regressed = counter(
    'revision_fell_total',
    'Records whose revision is lower than the one before of their key, by topic',
    ['topic'],
  );
  const explained = counter(
    'partition_explained_records_total',
    'Records in the partition that a partitioner gives their key, by topic and partitioner; neither: in none of the two',
    ['topic', 'partitioner'],
  );
  const views = counter('written_views_total', 'Views written');
  const bytes = counter('written_bytes_total', 'Bytes of views written');
  const compared = counter('compared_views_total', 'Views compared with the facts: how far repairs have got');
  const differing = counter(
    'reconciled_views_total',
    'Views that differed from the facts when compared, and were mended',
  );
  const checkedAll = new Gauge({
    name: 'ride_calendar_all_checked_timestamp_seconds',
    help: 'When the background comparison last had been through all tags since the start; 0: not yet',
    registers,
  });
  const faulty = counter(
    'faulty_views_total',
    'Views found wrong in the background though nothing was in flight, by kind',
    ['kind'],
  );
  for (const kind of faultyKinds) faulty.inc({ kind }, 0);
  return {
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
    compared: (count) => compared.inc(count),
    reconciled: (count) => differing.inc(count),
    checkedAll: (nowMs) => checkedAll.set(nowMs / 1000),
    faulty: (kind) => faulty.inc({ kind }),
  } satisfies Partial<ProjectorMetrics>;
}

function measureMetrics(registers: Registry[]) {
  const fresh = new Histogram({
    name: 'ride_calendar_freshness_seconds',
    help: 'From the time of a batch’s first record to its changes being readable, for each batch since the start',
    buckets: freshnessBuckets,
    registers,
  });
  const store = new Histogram({
    name: 'ride_calendar_store_write_seconds',
    help: 'Round trips of the projector to the view store, by operation',
    labelNames: ['operation'],
    buckets: serverBuckets,
    registers,
  });
  const kafka = new Histogram({
    name: 'ride_calendar_kafka_request_seconds',
    help: 'Round trips to Kafka, by request; a fetch waits there up to half a second for records',
    labelNames: ['request'],
    buckets: serverBuckets,
    registers,
  });
  return {
    projector: {
      readable: (seconds) => fresh.observe(seconds),
      storeAnswered: (operation, seconds) => store.observe({ operation }, seconds),
    } satisfies Partial<ProjectorMetrics>,
    kafkaAnswered: (request: string, seconds: number): void => kafka.observe({ request }, seconds),
  };
}

function watchMetrics(registers: Registry[], current: () => WatchedProjector): void {
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    fill: (gauge: Gauge<Label>, projector: WatchedProjector, status: ProjectorStatus) => void,
  ): void => {
    new Gauge<Label>({
      name: `ride_calendar_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        const projector = current();
        fill(this, projector, projector.status());
      },
    });
  };
  const age = (sinceMs: number | null): number => (sinceMs === null ? 0 : Math.max(0, nowMs() - sinceMs) / 1000);

  gauge('projector_ready', 'Whether the views stand at the ends sampled at the start', [], (self, { ready }) =>
    self.set(ready ? 1 : 0),
  );
  gauge('role', '1 for what the projector is: leader, or standby', ['role'], (self, _, { role }) => {
    for (const one of ['leader', 'standby']) self.set({ role: one }, one === role ? 1 : 0);
  });
  gauge(
    'unreadable_age_seconds',
    'Age of the oldest change that is not yet readable, or may not be; 0: all are',
    [],
    (self, _, { unreadableSinceMs }) => self.set(age(unreadableSinceMs)),
  );
  gauge('loop_turn_age_seconds', 'Since the projector’s loop last came round', [], (self, _, { turnMs }) =>
    self.set(age(turnMs)),
  );
  gauge(
    'waiting_seconds',
    'How long the projector has waited, by what for; 0: it does not',
    ['for'],
    (self, _, { waits }) => {
      for (const reason of waitReasons) self.set({ for: reason }, age(waits.get(reason) ?? null));
    },
  );
  gauge(
    'partition_position_offset',
    'The offset up to which a partition is folded',
    ['topic', 'partition'],
    (self, _, { partitions }) => {
      for (const { topic, partition, position } of partitions) self.set({ topic, partition }, position);
    },
  );
  gauge(
    'partition_end_offset',
    'One more than a partition’s last offset known',
    ['topic', 'partition'],
    (self, _, { partitions }) => {
      for (const { topic, partition, end } of partitions) self.set({ topic, partition }, end);
    },
  );
  gauge(
    'tags_in_repair',
    'Tags (of 64) whose views are in doubt, and compared with the facts',
    [],
    (self, _, { tagsInRepair }) => self.set(tagsInRepair),
  );
  gauge(
    'unresolved_rejects',
    'Bad records that are still the last of their key, by reason',
    ['reason'],
    (self, _, { unresolvedRejects }) => {
      for (const reason of badReasons) self.set({ reason }, 0);
      for (const [reason, count] of unresolvedRejects) self.set({ reason }, count);
    },
  );
}

/** Like `realClock`. */
const nowMs = (): number => performance.timeOrigin + performance.now();
