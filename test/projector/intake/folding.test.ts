import { expect, it } from 'vitest';
import { Folding, foldProgress } from '../../../projector/intake/folding.ts';
import type { EventLog, LogBounds, Position } from '../../../projector/ports/event-log.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import { topicNames } from '../../../schemas/events/records.ts';

const position = (riders: number, nights: number[]): Position => ({
  ...(Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position),
  riders: [riders],
  nights,
});

it('a long fold says every ten seconds how far it is, by offsets', () => {
  const said: string[] = [];
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, sleep: async () => {} };
  const say = (message: string) => void said.push(message);
  const log = { info: say, warn: say, error: say };
  const progress = foldProgress(position(100, [0, 0]), position(300, [100, 100]), { clock, log });
  progress(position(100, [0, 0]));
  nowMs = 9_999;
  progress(position(150, [0, 0]));
  expect(said).toEqual([]);
  nowMs = 10_000;
  progress(position(150, [50, 0]));
  nowMs = 15_000;
  progress(position(250, [50, 0]));
  nowMs = 20_000;
  // A partition that has grown meanwhile is no further than its end.
  progress(position(999, [50, 99]));
  expect(said).toEqual(['Folding the log: 25 % of 400 offsets', 'Folding the log: 87 % of 400 offsets']);
});

it('a log that answers but is not read yet is asked for its ends once a second', async () => {
  const bounds = Object.fromEntries(topicNames.map((topic) => [topic, [{ low: 0, end: 5 }]])) as LogBounds;
  let asked = 0;
  // At once, as an archive does; the fourth is one too many, and would be asked for ever.
  const ends = () => (++asked > 3 ? new Promise<LogBounds>(() => {}) : Promise.resolve(bounds));
  let second = (): void => {};
  const sleep = (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      second = resolve;
      signal?.addEventListener('abort', () => resolve());
    });
  const stop = new AbortController();
  const deps = { clock: { nowMs: () => 0, sleep }, log: silentLog, metrics: noMetrics, signal: stop.signal };
  const folding = new Folding(bounds, null, { ...deps, rejects: null, eventLog: { bounds: ends } as EventLog });
  const folded = folding.foldTo(position(5, [5]), stop.signal);
  for (const seconds of [1, 2]) {
    second();
    await new Promise(setImmediate);
    expect(asked).toBe(seconds);
  }
  stop.abort();
  await folded;
});
