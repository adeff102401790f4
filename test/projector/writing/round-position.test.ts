import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import { FanOuts } from '../../../projector/writing/fan-outs.ts';
import { Marking } from '../../../projector/writing/marking.ts';
import { Marks } from '../../../projector/writing/marks.ts';
import { Rounds } from '../../../projector/writing/rounds.ts';
import { PositionBarriers } from '../../../projector/writing/settled-position.ts';
import type { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { SteppingClock } from '../../support/stepping-clock.ts';

it('a round that a tag did not answer gives no position to store: the tag may answer before the next round', async () => {
  const { facts } = new Fold();
  const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position;
  const [marks, barriers] = [new Marks(), new PositionBarriers(position)];
  const fanOuts = new FanOuts(facts, barriers);
  const marking = new Marking(facts, marks, fanOuts);
  let answers = false;
  const lanes = { clock: new SteppingClock(), settled: null, round: 0, flush() {}, drain: async () => answers };
  const origin = { log: null, build: '' };
  const shared = { facts, marks, marking, fanOuts, barriers, origin };
  const rounds = new Rounds({ ...shared, lanes: lanes as unknown as TagLanes });
  expect(await rounds.run({ ...position, rides: [1] })).toBe(false);
  expect(lanes.settled).toBeNull();
  answers = true;
  expect(await rounds.run({ ...position, rides: [1] })).toBe(true);
  expect(lanes.settled).toMatchObject({ start: { position: { rides: [1] } } });
});
