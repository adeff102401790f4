import { byTopic } from '../schemas/events/records.ts';
import type { Fold } from './facts/fold.ts';
import { RevisionWatch } from './facts/revision-watch.ts';
import { Validator } from './facts/validator.ts';
import type { EncodedRecord, LogBatch, Reject, RejectSink } from './ports/event-log.ts';
import type { ProjectorMetrics } from './ports/metrics.ts';
import { type RetryDeps, retryLogged } from './ports/waiting.ts';
import type { Watching } from './watching/watching.ts';
import type { PositionBarriers } from './writing/settled-position.ts';

// Rejects that wait for their acknowledgement. Above this number the log waits, so that memory stays bounded.
const pendingMax = 1_000;
// Bad records that a standby keeps, which its leader has set aside: the last ones, where a log's tail is cut.
const keptMax = 1_000;

interface IntakeDeps extends RetryDeps {
  fold: Fold;
  /** Null: bad records are counted, and set aside nowhere. An archive keeps them where they are. */
  sink: RejectSink | null;
  barriers: PositionBarriers;
  metrics: ProjectorMetrics;
  watching?: Pick<Watching, 'rejects' | 'rejectsSinceMs'>;
}

/**
 * Takes in batches: folds good records, and sets bad ones aside, once, without stopping (docs/rules.md#rejected,
 * #last-good-record).
 */
export class Intake {
  readonly #deps: IntakeDeps;
  readonly #validator = new Validator();
  /** Whether bad records are set aside here: up to a leader's position they are already. */
  #publishing = false;
  /** Those that were left to the leader. */
  #kept: Reject[] = [];
  readonly #watches = byTopic(() => new RevisionWatch());
  #queue: Promise<void> = Promise.resolve();
  #pending = 0;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  async take(batch: LogBatch): Promise<void> {
    const rejects: Reject[] = [];
    const watch = this.#watches[batch.topic];
    for (const record of batch.records) {
      const reason = this.#validator.validate(record);
      if (reason === null) this.#apply(record, watch);
      else this.#refuse(record, reason, rejects);
    }
    this.#deps.metrics.folded(batch.topic, batch.records.length);
    if (rejects.length > 0) this.#setAside(rejects);
    if (this.#pending > pendingMax) await this.#queue;
  }

  #apply(record: EncodedRecord, watch: RevisionWatch): void {
    const { topic } = record;
    const { fold, watching, metrics } = this.#deps;
    const { key, value, revision } = this.#validator;
    fold.apply(topic, key, value as never);
    watching?.rejects.passed(record);
    if (value === null) return;
    const { first, second } = fold.subject;
    if (watch.regressed(first, second, revision)) metrics.revisionRegressed(topic);
  }

  #refuse(record: EncodedRecord, reason: string, rejects: Reject[]): void {
    const { topic, partition, offset, timestampMs } = record;
    const { metrics, watching, sink } = this.#deps;
    metrics.rejected(topic, reason);
    watching?.rejects.rejected(topic, record.keyBytes, reason);
    if (!sink) return;
    const into = this.#publishing ? rejects : this.#kept;
    into.push({ topic, partition, offset, timestampMs, reason, raw: record.raw() });
    if (this.#kept.length >= 2 * keptMax) this.#kept = this.#kept.slice(-keptMax);
  }

  /**
   * From now on bad records are set aside here, also the last ones before: if the log lost its tail and grew again, the
   * leader's position was of another tail, and what stands there now was never seen. The sink knows what it has.
   */
  beginPublishing(): void {
    this.#publishing = true;
    if (this.#kept.length > 0) this.#setAside(this.#kept.slice(-keptMax));
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
    const { barriers, sink, watching } = this.#deps;
    const barrier = barriers.open();
    this.#pending += rejects.length;
    this.#noteWaiting();
    const publish = async () => {
      await sink!.publish(rejects);
      barriers.lift(barrier);
    };
    this.#queue = this.#queue.then(async () => {
      await retryLogged('set bad records aside', publish, this.#deps);
      this.#pending -= rejects.length;
      // Each batch of rejects that is acknowledged is a step on.
      if (watching) watching.rejectsSinceMs = null;
      this.#noteWaiting();
    });
  }

  #noteWaiting(): void {
    const { watching, clock } = this.#deps;
    if (watching && this.#pending > 0) watching.rejectsSinceMs ??= clock.nowMs();
  }
}
