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

/** Rounds over lanes that write nothing. `answers`: whether all tags answer. */
function roundsOf() {
  const fold = new Fold();
  const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]])) as Position;
  const barriers = new PositionBarriers(position);
  const lanes = {
    clock: new SteppingClock(),
    settled: null,
    round: 0,
    answers: true,
    flush() {},
    drain: async () => lanes.answers,
  };
  const pending = new PendingWrites({ fold, barriers, subscribe: () => () => {} }, { take() {} });
  const shared = { facts: fold.facts, pending, barriers, identity: null };
  const rounds = new Rounds({ ...shared, lanes: lanes as unknown as TagLanes });
  return { lanes, barriers, run: (offset: number) => rounds.run({ ...position, rides: [offset] }) };
}

it('a round that a tag did not answer gives no position to store: the tag may answer before the next round', async () => {
  const { lanes, run } = roundsOf();
  lanes.answers = false;
  expect(await run(1)).toBe(false);
  expect(lanes.settled).toBeNull();
  lanes.answers = true;
  expect(await run(1)).toBe(true);
  expect(lanes.settled).toMatchObject({ start: { position: { rides: [1] } } });
});

// docs/rules.md#position
it('a reject of before the first round leaves the stored position as it is, until it is acknowledged', async () => {
  const { lanes, barriers, run } = roundsOf();
  const reject = barriers.open();
  expect(await run(1)).toBe(true);
  expect(await run(2)).toBe(true);
  expect(lanes.settled).toBeNull();
  barriers.lift(reject);
  expect(await run(3)).toBe(true);
  expect(lanes.settled).toMatchObject({ start: { position: { rides: [3] } } });
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
  expect(fanOuts.idle).toBe(true);
  const start = barriers.begin({ ...position, rides: [1] }, '');
  expect(barriers.settled(start, { fanOutsStored: false })).toBe(start);
});
