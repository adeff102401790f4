import { clampedMs } from '../../schemas/events/instants.ts';
import { byTopic } from '../../schemas/events/records.ts';
import type { Fold } from '../facts/fold.ts';
import type { EncodedRecord, LogBatch, Reject, RejectSink } from '../ports/event-log.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { PositionBarriers } from '../position/settled-position.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import { LastRevisions } from './last-revisions.ts';
import { Validator } from './validator.ts';

// How many bad records, and bytes of them, may wait for their acknowledgement: with more of them the log waits. A standby
// keeps as many, the last ones (see beginPublishing).
const pendingMax = 1_000;
const pendingBytesMax = 64 << 20;

interface IntakeDeps extends RetryDeps {
  fold: Fold;
  /** Null: bad records are counted, and set aside nowhere. An archive keeps them where they are. */
  sink: RejectSink | null;
  barriers: PositionBarriers;
  metrics: ProjectorMetrics;
  status?: Pick<Status, 'rejects' | 'waits'>;
}

/**
 * Takes in batches: folds good records, and sets bad ones aside, once, without stopping
 * (docs/rules.md#rejected, #last-good-record).
 */
export class Intake {
  readonly #deps: IntakeDeps;
  readonly #validator = new Validator();
  /** Whether bad records are set aside here. Up to a leader's position, the leader has done it. */
  #publishing = false;
  /** The last ones that were left to the leader. */
  #kept: Reject[] = [];
  readonly #lastRevisions = byTopic(() => new LastRevisions());
  #queue: Promise<void> = Promise.resolve();
  readonly #pending = { count: 0, bytes: 0 };

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  async take(batch: LogBatch): Promise<void> {
    const rejects: Reject[] = [];
    const revisions = this.#lastRevisions[batch.topic];
    let latestMs = 0;
    for (const record of batch.records) {
      if (record.timestampMs > latestMs) latestMs = clampedMs(record.timestampMs);
      const reason = this.#validator.validate(record);
      if (reason === null) this.#apply(record, revisions);
      else this.#refuse(record, reason, rejects);
    }
    this.#deps.metrics.folded(batch.topic, batch.records.length);
    this.#deps.metrics.timestamps(batch.topic, batch.partition, latestMs);
    if (this.#publishing) this.#setAside(rejects);
    else this.#kept = lastOf([...this.#kept, ...rejects]);
    if (this.#pending.count > pendingMax || this.#pending.bytes > pendingBytesMax) await this.#queue;
  }

  #apply(record: EncodedRecord, revisions: LastRevisions): void {
    const { topic } = record;
    const { fold, status, metrics } = this.#deps;
    const { key, value, revision } = this.#validator;
    fold.apply(topic, key, value as never);
    status?.rejects.passed(record);
    if (value === null) return;
    const { first, second } = fold.subject;
    if (revisions.regressed(first, second, revision)) metrics.revisionRegressed(topic);
  }

  #refuse(record: EncodedRecord, reason: string, rejects: Reject[]): void {
    const { topic, partition, offset, timestampMs } = record;
    const { metrics, status, sink } = this.#deps;
    metrics.rejected(topic, reason);
    status?.rejects.rejected(topic, record.keyBytes, reason);
    if (sink) rejects.push({ topic, partition, offset, timestampMs, reason, raw: record.raw() });
  }

  /**
   * From now on bad records are set aside here, and so are the last ones before. If the log lost its tail and grew again,
   * the leader before did not see what stands there now. The sink ignores those that it has.
   */
  beginPublishing(): void {
    this.#publishing = true;
    this.#setAside(this.#kept);
    this.#kept = [];
  }

  /** Another projector sets them aside. */
  endPublishing(): void {
    this.#publishing = false;
  }

  /** Resolves once every reject is acknowledged. */
  drain(): Promise<void> {
    return this.#queue;
  }

  #setAside(rejects: Reject[]): void {
    if (rejects.length === 0) return;
    const { barriers, sink, status } = this.#deps;
    const barrier = barriers.open();
    const bytes = bytesOf(rejects);
    this.#pending.count += rejects.length;
    this.#pending.bytes += bytes;
    this.#noteWaiting();
    const publish = async () => {
      await sink!.publish(rejects);
      barriers.lift(barrier);
    };
    this.#queue = this.#queue.then(async () => {
      await retryLogged('set bad records aside', publish, this.#deps);
      this.#pending.count -= rejects.length;
      this.#pending.bytes -= bytes;
      // An acknowledged batch is progress: the next one is waited for anew.
      status?.waits.end('rejects');
      this.#noteWaiting();
    });
  }

  #noteWaiting(): void {
    if (this.#pending.count > 0) this.#deps.status?.waits.begin('rejects');
  }
}

/** As many of the last ones as a standby keeps. */
function lastOf(rejects: readonly Reject[]): Reject[] {
  let from = rejects.length;
  for (let bytes = 0; from > 0 && rejects.length - from < pendingMax; from--) {
    bytes += bytesOf([rejects[from - 1]!]);
    if (bytes > pendingBytesMax) break;
  }
  return rejects.slice(from);
}

function bytesOf(rejects: readonly Reject[]): number {
  let bytes = 0;
  for (const { raw } of rejects) {
    bytes += (raw.key?.length ?? 0) + (raw.value?.length ?? 0);
    for (const header of Object.values(raw.headers)) bytes += header.length;
  }
  return bytes;
}
