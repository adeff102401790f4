import type { RecordInTime, RecordsInTime } from '../../../infra/archive/log/records-in-time.ts';
import type { Fold } from '../../../projector/facts/fold.ts';
import { Interner } from '../../../projector/facts/interner.ts';
import { Validator } from '../../../projector/intake/validator.ts';
import type { TopicName } from '../../../schemas/events/records.ts';

const validator = new Validator();

/** Folds records in the order of their times. The facts are the same as those of a fold in the log's order. */
export class FoldInTime {
  readonly #fold: Fold;
  /** The keys of records out of order, by topic, and of each the record that counts. Of other keys it is the last. */
  readonly #late = new Map<TopicName, { keys: Interner; last: Rank[] }>();

  constructor(fold: Fold, { late }: RecordsInTime) {
    this.#fold = fold;
    for (const { encoded } of late) {
      const { topic, keyBytes } = encoded!;
      if (keyBytes === null) continue;
      const ofTopic = this.#late.get(topic) ?? { keys: new Interner(), last: [] };
      this.#late.set(topic, ofTopic);
      ofTopic.keys.addBytes(keyBytes, 0, keyBytes.length);
    }
  }

  /** Whether the record counts: it is good, and at its time no later record of its key counted already. */
  take(record: RecordInTime): boolean {
    const { encoded } = record;
    if (validator.validate(encoded!) !== null || this.#isSuperseded(record)) return false;
    this.#fold.apply(validator.good);
    return true;
  }

  #isSuperseded({ encoded, latestMs, source }: RecordInTime): boolean {
    const { topic, offset, keyBytes } = encoded!;
    const late = this.#late.get(topic);
    const key = late ? late.keys.findBytes(keyBytes!, 0, keyBytes!.length) : -1;
    if (key < 0) return false;
    const rank = { offset, latestMs, source };
    const last = late!.last[key];
    if (last && compareRank(rank, last) < 0) return true;
    late!.last[key] = rank;
    return false;
  }
}

/** What decides which of a key's records counts. */
type Rank = Pick<RecordInTime, 'latestMs' | 'source'> & { offset: number };

/** Which of two records of a key counts: in one partition the last, in two the one with the latest time. */
const compareRank = (a: Rank, b: Rank): number =>
  a.source === b.source ? a.offset - b.offset : a.latestMs - b.latestMs || a.source.number - b.source.number;
