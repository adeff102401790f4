import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { EventLog, LogStatus, Position } from '../ports/event-log.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import { StoreRefusesError } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import type { Log } from '../running/log.ts';
import { UnreadableChanges } from './unreadable-changes.ts';
import { UnresolvedRejects, unknownSchemaWords } from './unresolved-rejects.ts';
import { type WaitReason, Waits } from './waits.ts';

export type Role = 'leader' | 'standby';

/** How far a partition is readable, as a leader knows it (docs/rules.md#readable; null: it is not known), and where it ends. */
interface PartitionStatus {
  topic: TopicName;
  partition: number;
  readable: number | null;
  end: number;
}

/** A projector's status at one moment. services/ exports it to Prometheus. */
export interface ProjectorStatus {
  role: Role;
  /** Since when the oldest change has not been readable, as `Clock.nowMs` says it. Null: all are. */
  unreadableSinceMs: number | null;
  /** What it waits for, and since when, as `Clock.nowMs` says it. */
  waits: ReadonlyMap<WaitReason, number>;
  /** Why its views do not follow the log, where that is the operator's to mend: in words that everybody may read. */
  troubles: readonly string[];
  /** What the operator should know though its views follow the log, in words that everybody may read. */
  notes: readonly string[];
  partitions: PartitionStatus[];
  /** Tags being compared with the facts, or waiting for that. */
  tagsInRepair: number;
  /** Bad records that are still the last of their key, by reason. */
  unresolvedRejects: ReadonlyMap<string, number>;
  /** The topics of which records were deleted, or may be. */
  deletedFrom: ReadonlySet<TopicName>;
}

interface StatusDeps {
  eventLog: EventLog;
  clock: Clock;
  log: Log;
  metrics: ProjectorMetrics;
}

const otherLogWords =
  'the views in the store are of another log, and this projector leads once no other one does: stop those with another KAFKA_BROKERS, KAFKA_TOPIC_PREFIX or ARCHIVE_DIR';

const rejectsWaitWords =
  'rejected records wait to be copied to their topic, and the stored position with them: the log says why';

/** What a projector does: whether it leads and is ready, what is stuck, since when, and what it waits for. It decides nothing. */
export class Status {
  readonly changes: UnreadableChanges;
  readonly rejects = new UnresolvedRejects();
  readonly waits: Waits;
  /** The topics of which records were deleted, or may be, and what to say of them, in words that everybody may read. */
  deletions: { topics: ReadonlySet<TopicName>; words: readonly string[] } = { topics: new Set(), words: [] };
  /** Up to where everything is readable. Each term of a leader sets it. */
  readable: () => Position | null = () => null;
  #role: Role = 'standby';
  #ready = false;
  #besideOtherLog = false;
  #tagsInRepair = 0;
  /** Since when tags have been compared, or were lost. What the store lost is not readable until a compare is done. */
  #repairSinceMs: number | null = null;
  readonly #deps: StatusDeps;
  /**
   * Until the views have reached the ends sampled at the start, anything may be unreadable. Also once the projector has
   * ended.
   */
  #behindSinceMs: number | null;

  constructor(deps: StatusDeps) {
    const { clock, log, metrics } = deps;
    this.#deps = deps;
    this.#behindSinceMs = clock.nowMs();
    this.waits = new Waits({ clock, log, logStatus: () => this.#logStatus });
    this.changes = new UnreadableChanges((seconds) => metrics.readable(seconds), clock);
  }

  get role(): Role {
    return this.#role;
  }

  /** Whether the views have reached the ends sampled at the start; of a standby, whether it is folded (docs/rules.md#ready-projector). */
  get ready(): boolean {
    return this.#ready;
  }

  /** It leads from now on, or stands by. */
  stand(role: Role): void {
    if (role === this.#role) return;
    this.#role = role;
    this.#ready = false;
    if (role === 'leader') {
      this.#setBesideOtherLog(false);
      this.judged(true);
      this.waits.end('leader');
    } else {
      this.waits.begin('leader');
      // A batch that the store refused is the leader's to wait for, which could write.
      this.waits.end('redis');
      this.changes.forget();
      this.#repairSinceMs = null;
    }
  }

  /** Awaits what the log is asked for before it is followed. */
  async askingLog<T>(answer: Promise<T>): Promise<T> {
    // An archive is read from a disk: that takes its time, and nobody is waited for.
    if (!this.#deps.eventLog.identity) return answer;
    this.waits.begin('kafka');
    try {
      return await answer;
    } finally {
      this.waits.end('kafka');
    }
  }

  /** This many more (or fewer) tags are being compared with the facts. */
  repairing(more: number): void {
    this.#tagsInRepair += more;
    if (more > 0) this.#repairSinceMs ??= this.#deps.clock.nowMs();
    this.#judgeRepair();
  }

  /** Nothing is left to compare: what was lost is readable again. */
  #judgeRepair(): void {
    if (this.#tagsInRepair > 0) return;
    this.#repairSinceMs = null;
    this.changes.compared();
  }

  /**
   * A leader's term has ended, and nothing is compared any more. `isLoss`: the store lost something, so what was marked must
   * be found by comparing, in the next term. Until then nothing counts as readable that did not before.
   */
  termEnded(isLoss: boolean): void {
    this.readable = () => null;
    this.#tagsInRepair = 0;
    if (!isLoss) return;
    this.#repairSinceMs ??= this.#deps.clock.nowMs();
    this.changes.lost();
  }

  /** The views have reached the log's ends sampled at the term's start. */
  caughtUp(): void {
    this.#judgeRepair();
    if (this.#ready || this.#role !== 'leader') return;
    this.#ready = true;
    this.#behindSinceMs = null;
    this.#deps.log.info('Ready: the views stand at the ends sampled at the start');
  }

  /**
   * A standby looked how far its leader is. Once folded so far, it stays ready, though it falls behind for a moment. Beside
   * the views of another log it is never ready, however long it waits.
   */
  followed(fold: 'folded' | 'behind' | 'of another log' | 'no views'): void {
    this.#setBesideOtherLog(fold === 'of another log');
    const wasReady = this.#ready;
    this.#ready = fold === 'folded' || (fold === 'behind' && wasReady);
    if (this.#ready && !wasReady)
      this.#deps.log.info('Ready: standing by with the log read, to take over if the leader ends');
    if (fold !== 'folded') return;
    this.waits.begin('leader');
    // What is not readable is the leader's to say.
    this.#behindSinceMs = null;
  }

  #setBesideOtherLog(is: boolean): void {
    if (is && !this.#besideOtherLog) this.#deps.log.warn(`Not ready: ${otherLogWords}`);
    this.#besideOtherLog = is;
  }

  /** Whether a standby's look at the store could tell anything about a leader. */
  judged(could: boolean): void {
    if (could) this.waits.end('redis', 'a look that counts');
    else this.waits.begin('redis', 'a look that counts');
  }

  ended(): void {
    this.#behindSinceMs ??= this.#deps.clock.nowMs();
    this.#role = 'standby';
    this.#ready = false;
  }

  now(position: Position | null, notes: readonly string[] = []): ProjectorStatus {
    const logStatus = this.#logStatus;
    const waiting = this.waits.current();
    const refused = this.waits.causes('redis').filter((cause) => cause instanceof StoreRefusesError);
    // Each once: every tag may say the same.
    const refusals = [...new Set(refused.map(({ message }) => message))];
    // Standing by is normal, and rejects have a note.
    const waits = this.waits.words(['leader', 'rejects', ...(refusals.length > 0 ? (['redis'] as const) : [])]);
    const unread = logStatus?.partitions.map(({ unreadSinceMs }) => unreadSinceMs) ?? [];
    return {
      role: this.#role,
      unreadableSinceMs: oldest(this.#behindSinceMs, this.#repairSinceMs, this.changes.sinceMs, ...unread),
      waits: this.waits.current(),
      troubles: [
        ...(this.#besideOtherLog ? [otherLogWords] : []),
        ...refusals,
        ...(logStatus?.lacks ? [logStatus.lacks] : []),
        ...waits,
      ],
      notes: [
        ...this.deletions.words,
        unknownSchemaWords(this.rejects.ofUnknownSchemas),
        // Kafka itself is told of where it is away.
        waiting.has('rejects') && !waiting.has('kafka') ? rejectsWaitWords : '',
        ...notes,
      ].filter(Boolean),
      partitions: position ? partitionsOf(position, this.readable(), logStatus) : [],
      tagsInRepair: this.#tagsInRepair,
      unresolvedRejects: this.rejects.byReason,
      deletedFrom: this.deletions.topics,
    };
  }

  get #logStatus(): LogStatus | null {
    return this.#deps.eventLog.status?.() ?? null;
  }
}

function oldest(...times: (number | null)[]): number | null {
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : known.reduce((a, b) => Math.min(a, b));
}

/** A log that does not say where it ends counts as read to its end. */
function partitionsOf(position: Position, readable: Position | null, status: LogStatus | null): PartitionStatus[] {
  const ends = new Map(status?.partitions.map(({ topic, partition, end }) => [`${topic}/${partition}`, end]));
  return topicNames.flatMap((topic) =>
    position[topic].map((at, partition) => {
      const end = ends.get(`${topic}/${partition}`) ?? at;
      return { topic, partition, readable: readable?.[topic][partition] ?? null, end: Math.max(at, end) };
    }),
  );
}
