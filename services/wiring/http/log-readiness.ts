import type { Logger } from 'pino';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import { backgroundClock } from '../../../projector/ports/clock.ts';

// A first connection takes a moment, which is not worth logging.
const firstLookMs = 1_500;
const lookMs = 2_000;

/**
 * Logs when reads cannot be answered, with the reason, and when they can again, until the signal aborts. Also logs what
 * the operator should mend meanwhile.
 */
export async function logReadiness(reader: ViewReader, log: Logger, signal: AbortSignal): Promise<void> {
  let said: string | null = null;
  let noted: string | undefined;
  for (let waitMs = firstLookMs; !signal.aborted; waitMs = lookMs) {
    await backgroundClock.sleep(waitMs, signal);
    if (signal.aborted) return;
    const state = await reader.ready();
    const reason = state.ready ? null : state.reason;
    if (reason !== null && reason !== said) log.warn(`Not ready: ${reason}. Reads get 503 until then`);
    else if (reason === null && said !== null) log.info('Ready: reads are answered');
    said = reason;
    const note = state.ready ? state.note : undefined;
    if (note !== undefined && note !== noted) log.warn(`Reads are answered, but ${note}`);
    if (state.ready) noted = note;
  }
}
