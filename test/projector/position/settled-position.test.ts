import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Position } from '../../../projector/ports/event-log.ts';
import { type Barrier, PositionBarriers, parseStoredPosition } from '../../../projector/position/settled-position.ts';
import { topicNames } from '../../../schemas/events/records.ts';

const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]]));
const stored = { log: 'l', position, sum: '0', fanOuts: [] };

describe('a stored position', () => {
  it('is read as it was written', () => {
    expect(parseStoredPosition(JSON.stringify(stored))).toEqual(stored);
  });

  it.each([
    ['is absent', null],
    ['is no JSON', 'x'],
    ['lacks a topic', JSON.stringify({ ...stored, position: { rides: [0] } })],
    ['lacks the sum', JSON.stringify({ ...stored, sum: undefined })],
  ])('that %s is as none', (_, text) => {
    expect(parseStoredPosition(text)).toBeNull();
  });
});

const at = (offset: number): Position =>
  Object.fromEntries(topicNames.map((topic) => [topic, topic === 'riders' ? [offset] : [0]])) as Position;
const offsetOf = (position: Position): number => position.riders[0]!;

describe('position barriers', () => {
  it('keep the position at or before every change that is not done, and let it go once all are', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('fold' as const) }),
        fc.record({ kind: fc.constant('round' as const) }),
        fc.record({ kind: fc.constant('open' as const) }),
        fc.record({ kind: fc.constant('close' as const), which: fc.nat(9) }),
      ),
      { maxLength: 60, size: 'max' },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const holds = new PositionBarriers(at(0));
        let folded = 0;
        const open: { hold: Barrier; change: number }[] = [];
        for (const step of list) {
          if (step.kind === 'fold') folded += 1;
          else if (step.kind === 'round') holds.begin(at(folded), '');
          // A hold is for a change folded since the last round began: the next record at the earliest.
          else if (step.kind === 'open') open.push({ hold: holds.open(), change: folded });
          else if (open.length > 0) holds.lift(open.splice(step.which % open.length, 1)[0]!.hold);
          const written = { round: Number.MAX_SAFE_INTEGER, position: at(folded), sum: '' };
          const settled = offsetOf(holds.settled(written, { fanOutsStored: false }).position);
          for (const { change } of open) expect(settled).toBeLessThanOrEqual(change);
          if (open.length === 0) expect(settled).toBe(folded);
        }
      }),
    );
  });
});
