import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import type { Projector } from '../../../projector/projector.ts';
import { backgroundClock } from '../../../projector/running/clock.ts';
import type { Settings } from '../../settings/settings.ts';

/** Whether a process can do its work. If it can, `note` says what the operator should still know. */
export type Readiness = () => ReturnType<ViewReader['ready']>;

/** A process that is told to stop is not ready, so that it gets no more requests (docs/rules.md#ready-api). */
export const untilStopped =
  (readiness: Readiness, signal: AbortSignal): Readiness =>
  async () =>
    signal.aborted ? { ready: false, reason: 'the process was told to stop' } : readiness();

/** Of a projector (docs/rules.md#ready-projector). Why its views do not follow the log is in the note or the reason. */
export const projectorReadiness =
  (current: () => Pick<Projector, 'ready' | 'status'>): Readiness =>
  async () => {
    const { troubles, notes } = current().status();
    const note = [...troubles, ...notes].join('; ');
    if (current().ready) return { ready: true, ...(note && { note }) };
    const reason = 'the views are not yet at the ends of the log sampled at the start';
    return { ready: false, reason: [reason, troubles.join('; ')].filter(Boolean).join(': ') };
  };

/** Why a part of the process does not work, such as sign-in, while reads are answered. Null: it works. */
export type Trouble = () => string | null;

/** Whether reads can be answered, and whether they could once, whoever asked. */
export interface WatchedReads extends Pick<ViewReader, 'ready'> {
  readonly wereReady: boolean;
}

export function watchedReads(reader: Pick<ViewReader, 'ready'>): WatchedReads {
  let wereReady = false;
  return {
    get wereReady() {
      return wereReady;
    },
    async ready() {
      const state = await reader.ready();
      wereReady ||= state.ready;
      return state;
    },
  };
}

/**
 * The readiness of an API. One that was ready once stays ready: a store that goes away later makes reads 503, but must not
 * remove every instance from a load balancer at once (docs/rules.md#ready-api). The note then says why reads fail, between
 * the troubles `before` and `after`.
 */
export const apiReadiness =
  (watched: WatchedReads, before: Trouble, after: Trouble): Readiness =>
  async () => {
    const state = await watched.ready();
    if (!watched.wereReady) return state;
    const reads = state.ready ? state.note : `reads get 503: ${state.reason}`;
    const notes = [before(), reads, after()].filter(Boolean);
    return { ready: true, ...(notes.length > 0 && { note: notes.join('; ') }) };
  };

/** A server that was told to stop goes on serving, unready, until load balancers have noticed. */
export async function drain({ drainSeconds }: Settings, log: Logger): Promise<void> {
  if (drainSeconds === 0) return;
  log.info(`Told to stop: not ready any more, serving on for ${drainSeconds} s (DRAIN_SECONDS)`);
  await sleep(drainSeconds * 1000);
}

const connectWaitMs = 2_000;

/** Waits until reads can be answered, 2 s at most: a proxy that noticed no restart sends requests at once. */
export async function readyOrAwhile(reader: Pick<ViewReader, 'ready'>, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + connectWaitMs;
  while (!(await reader.ready()).ready && performance.now() < untilMs && !signal.aborted) await sleep(10);
}

// A first connection takes a moment, which is not worth logging.
const firstCheckMs = 1_500;
const checkMs = 5_000;

/** Logs, until the signal aborts, when reads cannot be answered and why, when they can again, and the notes. */
export async function logReadiness(
  reader: Pick<ViewReader, 'ready'>,
  log: Pick<Logger, 'info' | 'warn'>,
  signal: AbortSignal,
): Promise<void> {
  let said: string | null = null;
  let noted: string | undefined;
  for (let waitMs = firstCheckMs; !signal.aborted; waitMs = checkMs) {
    await backgroundClock.sleep(waitMs, signal);
    if (signal.aborted) return;
    const state = await reader.ready();
    const reason = state.ready ? null : state.reason;
    if (reason !== null && reason !== said) log.warn(`Reads get 503: ${reason}`);
    else if (reason === null && said !== null) log.info('Reads are answered');
    said = reason;
    const note = state.ready ? state.note : undefined;
    if (note !== undefined && note !== noted) log.warn(`Reads are answered, but ${note}`);
    if (state.ready) noted = note;
  }
}
