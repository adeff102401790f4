import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogBatch, LogStatus, Position } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { UnreadableChanges } from './unreadable-changes.ts';
import { UnresolvedRejects } from './unresolved-rejects.ts';
import { type WaitReason, Waits } from './waits.ts';
import { StoreAnswers, watchedWriter } from './watched-writer.ts';

export type Role = 'leader' | 'standby';

/** How far a partition is folded, and where it ends. */
interface PartitionPosition {
  topic: TopicName;
  partition: number;
  position: number;
  end: number;
}

/** A projector's status at one moment. services/ exports it to Prometheus. */
export interface ProjectorStatus {
  role: Role;
  /** Since when the oldest change has not been readable, in milliseconds since the epoch. Null: all are. */
  unreadableSinceMs: number | null;
  /** When its loop last came round. */
  turnMs: number;
  /** What it waits for, and since when. */
  waits: ReadonlyMap<WaitReason, number>;
  /** Why its views do not follow the log, where that is the operator's to mend: in words that everybody may read. */
  troubles: readonly string[];
  partitions: PartitionPosition[];
  /** Tags being compared with the facts, or waiting for that. */
  tagsInRepair: number;
  /** Bad records that are still the last of their key, by reason. */
  unresolvedRejects: ReadonlyMap<string, number>;
}

interface WatchingDeps {
  eventLog: EventLog;
  writer: ViewWriter;
  clock: Clock;
  log: Log;
  metrics: ProjectorMetrics;
}

export const otherLogWords =
  'the views in the store are of another log, and this projector leads once no other one does: stop those with another KAFKA_BROKERS, KAFKA_TOPIC_PREFIX or ARCHIVE_DIR';

/** Observes a projector: what is stuck, since when, and what it waits for. It decides nothing. */
export class Watching {
  /** The view writer, with its calls measured. */
  readonly writer: ViewWriter;
  readonly changes: UnreadableChanges;
  readonly rejects = new UnresolvedRejects();
  role: Role = 'standby';
  /** Since when a standby has waited for the leader to stop. Null: it leads, or is not ready to. */
  standingBySinceMs: number | null = null;
  /** Since when a standby's looks have told nothing about a leader. Null: they do, or it leads. */
  #blindSinceMs: number | null = null;
  /** The views in the store are of another log. */
  besideOtherLog = false;
  /** Since when bad records have waited to be set aside. Null: none do. */
  rejectsSinceMs: number | null = null;
  #tagsInRepair = 0;
  /** Since when tags have been compared. What the store lost is not readable until that is done. */
  #repairSinceMs: number | null = null;
  readonly #eventLog: EventLog;
  readonly #clock: Clock;
  readonly #answers: StoreAnswers;
  readonly waits: Waits;
  /** Since when the log has been asked for its bounds. */
  #logSinceMs: number | null = null;
  #inHandSinceMs: number | null = null;
  /**
   * Until the views have reached the ends sampled at the start, anything may be unreadable. Also once the projector has
   * ended.
   */
  #behindSinceMs: number | null;
  #turnMs: number;

  constructor({ eventLog, writer, clock, log, metrics }: WatchingDeps) {
    this.#eventLog = eventLog;
    this.#clock = clock;
    this.#turnMs = clock.nowMs();
    this.#behindSinceMs = this.#turnMs;
    this.#answers = new StoreAnswers(clock, (operation, seconds) => metrics.storeAnswered(operation, seconds));
    this.writer = watchedWriter(writer, this.#answers);
    const measured = (fromRecord: number, fromArrival: number): void => metrics.readable(fromRecord, fromArrival);
    this.changes = new UnreadableChanges(measured, undefined, clock);
    const waitsFor = (reason: 'registry' | 'transaction') => () => this.#partitionWaits(reason);
    const sources = {
      kafka: () => oldest(this.#logSinceMs, this.#logStatus?.silentSinceMs ?? null),
      redis: () => oldest(this.#answers.silentSinceMs, this.#blindSinceMs),
      registry: waitsFor('registry'),
      transaction: waitsFor('transaction'),
      rejects: () => this.rejectsSinceMs,
      leader: () => this.standingBySinceMs,
    };
    this.waits = new Waits(sources, { clock, log });
  }

  /** The loop came round. */
  turn(): void {
    this.#turnMs = this.#clock.nowMs();
  }

  /** Awaits what the log is asked for before it is followed. */
  async askingLog<T>(answer: Promise<T>): Promise<T> {
    this.#logSinceMs = this.#clock.nowMs();
    try {
      return await answer;
    } finally {
      this.#logSinceMs = null;
    }
  }

  /** A batch is being taken in. */
  taking(batch: LogBatch): void {
    this.#inHandSinceMs = batch.records.length > 0 ? (batch.unreadSinceMs ?? this.#clock.nowMs()) : null;
  }

  /**
   * The batch is folded. `fanOut`: the number of the last fan-out that it began, 0 for none. Null: it is from before
   * the start's ends.
   */
  took(batch: LogBatch, fanOut: number | null): void {
    this.#inHandSinceMs = null;
    if (fanOut !== null) this.changes.take(batch, this.#clock.nowMs(), fanOut);
  }

  /** This many more (or fewer) tags are being compared with the facts. */
  repairing(more: number): void {
    this.#tagsInRepair += more;
    this.#repairSinceMs = this.#tagsInRepair > 0 ? (this.#repairSinceMs ?? this.#clock.nowMs()) : null;
  }

  /** The views have reached the ends sampled at the start. */
  caughtUp(): void {
    this.#behindSinceMs = null;
  }

  /** A standby is folded: it waits for the leader to stop. What is not readable is the leader's to say. */
  standsBy(nowMs: number): void {
    this.standingBySinceMs ??= nowMs;
    this.#behindSinceMs = null;
  }

  /** Whether a standby's look at the store could tell anything about a leader. */
  judged(could: boolean): void {
    this.#blindSinceMs = could ? null : (this.#blindSinceMs ?? this.#clock.nowMs());
  }

  /** The projector has ended. */
  ended(): void {
    this.#behindSinceMs ??= this.#clock.nowMs();
    this.role = 'standby';
  }

  status(position: Position | null): ProjectorStatus {
    const logStatus = this.#logStatus;
    const unread = logStatus?.partitions.map(({ unreadSinceMs }) => unreadSinceMs) ?? [];
    return {
      role: this.role,
      unreadableSinceMs: oldest(
        this.#behindSinceMs,
        this.#repairSinceMs,
        this.#inHandSinceMs,
        this.changes.sinceMs,
        ...unread,
      ),
      turnMs: this.#turnMs,
      waits: this.waits.current(),
      troubles: [this.besideOtherLog ? otherLogWords : null, this.#answers.refusal].filter((each) => each !== null),
      partitions: position ? partitionsOf(position, logStatus) : [],
      tagsInRepair: this.#tagsInRepair,
      unresolvedRejects: this.rejects.byReason,
    };
  }

  get #logStatus(): LogStatus | null {
    return this.#eventLog.status?.() ?? null;
  }

  #partitionWaits(reason: 'registry' | 'transaction'): number | null {
    const waiting = this.#logStatus?.partitions.filter(({ waitsFor }) => waitsFor === reason) ?? [];
    return oldest(...waiting.map(({ unreadSinceMs }) => unreadSinceMs));
  }
}

function oldest(...times: (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : known.reduce((a, b) => Math.min(a, b));
}

/** A log that does not say where it ends counts as read to its end. */
function partitionsOf(position: Position, status: LogStatus | null): PartitionPosition[] {
  const ends = new Map(status?.partitions.map(({ topic, partition, end }) => [`${topic}/${partition}`, end]));
  return topicNames.flatMap((topic) =>
    position[topic].map((at, partition) => {
      const end = ends.get(`${topic}/${partition}`) ?? at;
      return { topic, partition, position: at, end: Math.max(at, end) };
    }),
  );
}
