import { noMetrics } from '../../../projector/ports/metrics.ts';
import { keptLog } from '../processes/heard.ts';
import { SteppingClock } from './stepping-clock.ts';

/** What a projector's parts share: a clock that steps, what they say, no metrics, and a stop. */
export function sharedDeps() {
  const stop = new AbortController();
  return { ...keptLog(), clock: new SteppingClock(), metrics: noMetrics, stop, signal: stop.signal };
}
