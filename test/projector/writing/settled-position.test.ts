import { describe, expect, it } from 'vitest';
import { parseStoredPosition } from '../../../projector/writing/settled-position.ts';
import { topicNames } from '../../../schemas/events/records.ts';

const position = Object.fromEntries(topicNames.map((topic) => [topic, [0]]));
const stored = { log: 'l', build: 'b', shards: 1, position, sum: '0', fanOuts: [] };

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
