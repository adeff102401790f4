import { expect, it } from 'vitest';
import { foldProgress } from '../../projector/folding.ts';
import type { Position } from '../../projector/ports/event-log.ts';
import { topicNames } from '../../schemas/events/records.ts';

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
