import type { EncodedRecord, EventLog, Reject, RejectSink } from '../ports/event-log.ts';
import { positionOf } from '../position/position.ts';
import type { PositionBarriers } from '../position/settled-position.ts';
import { countText } from '../running/log.ts';
import { race } from '../running/stop.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import { followToEnds } from './follow-to-ends.ts';
import { ToldRejects } from './told-rejects.ts';
import { whyBad } from './validator.ts';

// How many bad records, and bytes of them, may wait for their acknowledgement: with more of them the log waits.
const pendingMax = 1_000;
const pendingBytesMax = 64 << 20;
/** How often a leader looks whether all that it set aside is still there. */
const lookEveryMs = 10_000;

export interface SettingAsideDeps extends RetryDeps {
  eventLog: Pick<EventLog, 'bounds' | 'follow'>;
  /** Null: bad records are counted, and set aside nowhere. An archive keeps them where they are. */
  sink: RejectSink | null;
  barriers: PositionBarriers;
  status?: Partial<Pick<Status, 'waits' | 'missingRejects'>>;
}

type Place = Pick<EncodedRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/**
 * Sets bad records aside, once, without stopping (docs/rules.md#rejected). A leader compares all that it met since it began
 * to fold with what is set aside: as it begins, and whenever some of that was lost. What is missing is read again, however
 * old it is.
 */
export class SettingAside {
  readonly #deps: SettingAsideDeps;
  readonly #told: ToldRejects;
  readonly #met: Place[] = [];
  /** Whether bad records are set aside here. Up to a leader's position, the leader has done it. */
  #leads = false;
  #isCompared = false;
  #queue: Promise<void> = Promise.resolve();
  readonly #pending = { count: 0, bytes: 0 };

  constructor(deps: SettingAsideDeps) {
    this.#deps = deps;
    this.#told = new ToldRejects(deps);
  }

  /** A bad record of the log was met. Where this projector leads, it is told, and set aside with the others of its batch. */
  met(record: EncodedRecord, reason: string, batch: Reject[]): void {
    if (this.#leads) this.#told.tell(record, reason);
    if (!this.#deps.sink) return;
    this.#met.push(placeOf(record));
    if (this.#leads) batch.push(rejectOf(record, reason));
  }

  begin(): void {
    this.#leads = true;
    this.#isCompared = false;
  }

  /** Another projector sets them aside. */
  end(): void {
    this.#leads = false;
    this.#setMissing(0);
  }

  /** Resolves once every reject is acknowledged. */
  drain(): Promise<void> {
    return this.#queue;
  }

  /** Resolves once so few are not acknowledged that more may come. */
  async add(rejects: Reject[]): Promise<void> {
    if (rejects.length > 0) this.#publish(rejects);
    if (this.#pending.count > pendingMax || this.#pending.bytes > pendingBytesMax) await this.#queue;
  }

  #publish(rejects: Reject[]): void {
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
      status?.waits?.end('rejects', 'new ones');
      this.#noteWaiting();
    });
  }

  #noteWaiting(): void {
    if (this.#pending.count > 0) this.#deps.status?.waits?.begin('rejects', 'new ones');
  }

  /** Compares, and looks again and again whether there is a reason to, until told to stop. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, sink, status } = this.#deps;
    while (sink && !signal.aborted) {
      status?.waits?.begin('rejects', 'a look');
      const look = () => this.#look(sink, signal);
      await retryLogged('look which bad records are set aside', look, { ...this.#deps, signal }).finally(() =>
        status?.waits?.end('rejects', 'a look'),
      );
      await clock.sleep(lookEveryMs, signal);
    }
  }

  async #look(sink: RejectSink, signal: AbortSignal): Promise<void> {
    const count = this.#met.length;
    // Those that were met until now are set aside by then.
    await race(signal, this.#queue);
    if (!(await race(signal, sink.holdsAll()))) this.#isCompared = false;
    if (this.#isCompared) return;
    const missing = sink.missing(this.#met.slice(0, count));
    this.#setMissing(missing.length);
    if (missing.length > 0) await this.#setAsideAgain(missing, sink, signal);
    this.#setMissing(0);
    this.#isCompared = true;
  }

  #setMissing(count: number): void {
    if (this.#deps.status) this.#deps.status.missingRejects = count;
  }

  /** Reads the log again, each partition from the first of these on. What the sink holds is not published again. */
  async #setAsideAgain(missing: readonly Place[], sink: RejectSink, signal: AbortSignal): Promise<void> {
    const { eventLog, log } = this.#deps;
    const first = missing[0]!;
    log.warn(
      `Bad records of the log that are not in the topic of rejected records: ${missing.length}, from ${first.topic}/${first.partition}@${first.offset} on. Reading them again, to set them aside (it was made anew or lost records, or the leader before ended in between)`,
    );
    const bounds = await race(signal, eventLog.bounds());
    const from = positionOf(bounds, 'end');
    for (const { topic, partition, offset } of missing) {
      const at = Math.min(from[topic][partition]!, offset);
      from[topic][partition] = Math.max(at, bounds[topic][partition]!.low);
    }
    let count = 0;
    await followToEnds(eventLog, from, bounds, signal, async ({ records }) => {
      const rejects = records.flatMap((record) => {
        const reason = whyBad(record);
        return reason === null ? [] : [rejectOf(record, reason)];
      });
      if (rejects.length > 0) count += await race(signal, sink.publish(rejects));
    });
    log.info(`Set aside again: ${countText(count, 'bad record')}`);
  }
}

const placeOf = ({ topic, partition, offset, timestampMs }: Place): Place => ({
  topic,
  partition,
  offset,
  timestampMs,
});

const rejectOf = (record: EncodedRecord, reason: string): Reject => ({
  ...placeOf(record),
  reason,
  raw: record.raw(),
});

function bytesOf(rejects: readonly Reject[]): number {
  let bytes = 0;
  for (const { raw } of rejects) {
    bytes += (raw.key?.length ?? 0) + (raw.value?.length ?? 0);
    for (const header of Object.values(raw.headers)) bytes += header.length;
  }
  return bytes;
}
