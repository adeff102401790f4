import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { FanOuts } from '../../../projector/writing/fan-outs.ts';
import { PendingWrites } from '../../../projector/writing/pending-writes.ts';
import { Rounds } from '../../../projector/writing/rounds.ts';
import type { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';

it('a round that a tag did not answer gives no position to store: the tag may answer before the next round', async () => {
  const fold = new Fold();
  const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position;
  const barriers = new PositionBarriers(position);
  let answers = false;
  const lanes = { clock: new SteppingClock(), settled: null, round: 0, flush() {}, drain: async () => answers };
  const shared = { facts: fold.facts, pending: new PendingWrites(fold, barriers), barriers, identity: null };
  const rounds = new Rounds({ ...shared, lanes: lanes as unknown as TagLanes });
  expect(await rounds.run({ ...position, rides: [1] })).toBe(false);
  expect(lanes.settled).toBeNull();
  answers = true;
  expect(await rounds.run({ ...position, rides: [1] })).toBe(true);
  expect(lanes.settled).toMatchObject({ start: { position: { rides: [1] } } });
});

it('a term that has ended leaves no fan-out that would hold back the position of the next one', () => {
  const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position;
  const barriers = new PositionBarriers(position);
  const fanOuts = new FanOuts(new Fold().facts, barriers);
  fanOuts.add(0, 1);
  // Its last watchers were told in a round that was broken off.
  expect(fanOuts.slice(() => {})).not.toBeNull();
  fanOuts.add(1, 1);
  fanOuts.clear();
  const start = barriers.begin({ ...position, rides: [1] }, '');
  expect(barriers.settled(start, { fanOutsStored: false })).toBe(start);
});
