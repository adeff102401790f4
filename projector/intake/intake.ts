import { kindOf } from '../../schemas/avro/undecodable.ts';
import { clampedMs } from '../../schemas/events/instants.ts';
import { byTopic } from '../../schemas/events/records.ts';
import type { Fold } from '../facts/fold.ts';
import type { EncodedRecord, LogBatch, Reject } from '../ports/event-log.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { Status } from '../status/status.ts';
import { LastRevisions } from './last-revisions.ts';
import { type BadReason, explained } from './reasons.ts';
import { SettingAside, type SettingAsideDeps } from './setting-aside.ts';
import { Validator } from './validator.ts';

export interface IntakeDeps extends SettingAsideDeps {
  fold: Fold;
  metrics: ProjectorMetrics;
  /** Absent: nobody asks how far it is. */
  status?: Pick<Status, 'rejects'>;
}

/**
 * Takes in batches: folds good records, and sets bad ones aside, once, without stopping
 * (docs/rules.md#rejected, #last-good-record).
 */
export class Intake {
  readonly #deps: IntakeDeps;
  readonly #validator = new Validator();
  readonly aside: SettingAside;
  readonly #lastRevisions = byTopic(() => new LastRevisions());

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
    this.aside = new SettingAside(deps);
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
    await this.aside.add(rejects);
  }

  #apply(record: EncodedRecord, revisions: LastRevisions): void {
    const { topic } = record;
    const { fold, status, metrics } = this.#deps;
    const { good, revision } = this.#validator;
    fold.apply(good);
    status?.rejects.passed(record);
    if (good.value === null) return;
    const { first, second } = fold.subject;
    if (revisions.regressed(first, second, revision)) metrics.revisionRegressed(topic);
  }

  #refuse(record: EncodedRecord, bad: BadReason, rejects: Reject[]): void {
    const { metrics, status } = this.#deps;
    const kind = kindOf(bad);
    metrics.rejected(record.topic, kind);
    status?.rejects.rejected(record.topic, record.keyBytes, kind);
    this.aside.met(record, explained(record, bad), rejects);
  }
}
