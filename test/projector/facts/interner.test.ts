import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Interner } from '../../../projector/facts/interner.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';

function holdsWhatAMapHolds(texts: readonly string[]): void {
  const interner = new Interner();
  const model = new Map<string, number>();
  for (const text of texts) {
    if (!model.has(text)) {
      expect(interner.find(text)).toBe(-1);
      model.set(text, model.size);
    }
    expect(interner.add(text)).toBe(model.get(text));
  }
  for (const [text, number] of model) {
    expect(interner.find(text)).toBe(number);
    expect(interner.text(number)).toBe(text);
    expect(interner.tag(number)).toBe(tagOf(text));
  }
}

describe('an interner', () => {
  it('gives each text one number, in order of arrival, and knows its tag', () => {
    fc.assert(fc.property(fc.array(fc.string({ maxLength: 3, unit: 'binary' })), holdsWhatAMapHolds));
  });

  it('does so also as it grows', () => {
    const texts = Array.from({ length: 5_000 }, (_, i) => `rider${(i * 7) % 4_001}`);
    holdsWhatAMapHolds(texts);
  });
});
