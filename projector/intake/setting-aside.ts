import type { EncodedRecord, EventLog, Reject, RejectSink } from '../ports/event-log.ts';
import { positionOf } from '../position/position.ts';
import type { PositionBarriers } from '../position/settled-position.ts';
import { countText } from '../running/log.ts';
import { race } from '../running/stop.ts';
import { type RetryDeps, retryLogged } from '../running/waiting.ts';
import type { Waits } from '../status/waits.ts';
import { followToEnds } from './follow-to-ends.ts';
import { tellRejects } from './told-rejects.ts';
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
  waits?: Waits;
}

/**
 * Sets bad records aside, without stopping (docs/rules.md#rejected). A standby does it too, as it folds up to the leader's
 * position: the sink publishes what it lacks. If the sink lost some, a leader reads the log again.
 */
export class SettingAside {
  readonly #deps: SettingAsideDeps;
  readonly #tell: ReturnType<typeof tellRejects>;
  #leads = false;
  /** Whether the sink may lack bad records of what is folded. */
  #lacks = false;
  #queue: Promise<void> = Promise.resolve();
  readonly #pending = { count: 0, bytes: 0 };

  constructor(deps: SettingAsideDeps) {
    this.#deps = deps;
    this.#tell = tellRejects(deps);
  }

  /** A bad record of the log was met. Where this projector leads, it is told. It is set aside with the others of its batch. */
  met(record: EncodedRecord, reason: string, batch: Reject[]): void {
    if (this.#leads) this.#tell(record, reason);
    if (this.#deps.sink) batch.push(rejectOf(record, reason));
  }

  begin(): void {
    this.#leads = true;
  }

  /** Another projector leads, and tells them. */
  end(): void {
    this.#leads = false;
  }

  /** Resolves once every reject is acknowledged. */
  drain(): Promise<void> {
    return this.#queue;
  }

  /** Resolves once so few are not acknowledged that more may come. A standby waits for none: it must be able to take over. */
  async add(rejects: Reject[]): Promise<void> {
    if (rejects.length === 0) return;
    if (this.#isFull && !this.#leads) this.#lacks = true;
    else this.#publish(rejects);
    if (this.#isFull && this.#leads) await this.#queue;
  }

  get #isFull(): boolean {
    return this.#pending.count > pendingMax || this.#pending.bytes > pendingBytesMax;
  }

  #publish(rejects: Reject[]): void {
    const { barriers, sink, waits } = this.#deps;
    // Up to a leader's position the leader has waited for them.
    const barrier = this.#leads ? barriers.open() : null;
    const bytes = bytesOf(rejects);
    this.#pending.count += rejects.length;
    this.#pending.bytes += bytes;
    this.#noteWaiting();
    const publish = async () => {
      await sink!.publish(rejects);
      if (barrier) barriers.lift(barrier);
    };
    this.#queue = this.#queue.then(async () => {
      await retryLogged('copy rejected records to their topic', publish, this.#deps);
      this.#pending.count -= rejects.length;
      this.#pending.bytes -= bytes;
      // An acknowledged batch is progress: the next one is waited for anew.
      waits?.end('rejects', 'new ones');
      this.#noteWaiting();
    });
  }

  #noteWaiting(): void {
    if (this.#pending.count > 0) this.#deps.waits?.begin('rejects', 'new ones');
  }

  /** Looks again and again whether the sink lost some, and sets these aside again, until told to stop. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, sink, waits } = this.#deps;
    while (sink && !signal.aborted) {
      waits?.begin('rejects', 'a look');
      const look = async () => {
        // It says so once. An answer that comes after the term is the next one's.
        const noted = sink.holdsAll().then((holds) => {
          if (!holds) this.#lacks = true;
        });
        await race(signal, noted);
        if (this.#lacks) await this.#setAsideAgain(sink, signal);
        this.#lacks = false;
      };
      await retryLogged('find out which rejected records their topic has', look, { ...this.#deps, signal }).finally(
        () => waits?.end('rejects', 'a look'),
      );
      await clock.sleep(lookEveryMs, signal);
    }
  }

  /** Hands on every bad record of the log again. */
  async #setAsideAgain(sink: RejectSink, signal: AbortSignal): Promise<void> {
    const { eventLog, log } = this.#deps;
    log.warn(
      'The topic of rejected records has another leader, or was made anew, and may lack some: reading the log again, to copy those',
    );
    const bounds = await race(signal, eventLog.bounds());
    let count = 0;
    await followToEnds(eventLog, positionOf(bounds, 'low'), bounds, signal, async ({ records }) => {
      const rejects = records.flatMap((record) => {
        const reason = whyBad(record);
        return reason === null ? [] : [rejectOf(record, reason)];
      });
      if (rejects.length > 0) count += await race(signal, sink.publish(rejects));
    });
    log.info(`Copied again: ${countText(count, 'rejected record')}`);
  }
}

const rejectOf = (record: EncodedRecord, reason: string): Reject => {
  const { topic, partition, offset, timestampMs } = record;
  return { topic, partition, offset, timestampMs, reason, raw: record.raw() };
};

function bytesOf(rejects: readonly Reject[]): number {
  let bytes = 0;
  for (const { raw } of rejects) {
    bytes += (raw.key?.length ?? 0) + (raw.value?.length ?? 0);
    for (const header of Object.values(raw.headers)) bytes += header.length;
  }
  return bytes;
}
