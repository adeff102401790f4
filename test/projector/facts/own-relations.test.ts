import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { tagOf, tagsOfShard } from '../../../schemas/views/view-keys.ts';
import { recordKey, sampleRecords } from '../../support/records.ts';

/** The first id of which the tag is, or is not, one of a shard's. */
const rider = (prefix: string, owned: boolean): string => {
  for (let i = 0; ; i++) if (shard.includes(tagOf(`${prefix}${i}`)) === owned) return `${prefix}${i}`;
};
const shard = tagsOfShard(1, 3);
const own = rider('own', true);
const otherOwn = rider('second', true);
const foreign = rider('foreign', false);
const otherForeign = rider('far', false);

const none = { follows: false, close: false, flagged: false, blocked: false };
type Bits = Partial<typeof none>;

function shardFold() {
  const fold = new Fold(shard);
  const relate = (from: string, to: string, bits: Bits | null) => {
    const value = bits && { ...sampleRecords.relations, ...none, rider: from, other: to, ...bits };
    fold.apply('relations', recordKey('relations', `${from}/${to}`), value);
  };
  const bits = (from: string, to: string) =>
    fold.facts.relations.get(fold.facts.riderIds.find(from), fold.facts.riderIds.find(to));
  const watches = (who: string, reader: string) =>
    fold.facts.watchers.get(fold.facts.riderIds.find(who), fold.facts.riderIds.find(reader));
  return { fold, relate, bits, watches };
}

it('a shard holds all of its own readers’ relations, to whomever', () => {
  const { relate, bits, watches } = shardFold();
  for (const other of [otherOwn, foreign]) {
    relate(own, other, { follows: true, close: true, flagged: true, blocked: true });
    expect(bits(own, other)).toBe(15);
    expect(watches(other, own)).toBe(7);
  }
});

it('a shard holds of a foreign reader only the blocks against its own', () => {
  const { fold, relate, bits, watches } = shardFold();
  relate(foreign, own, { follows: true, blocked: true });
  expect(bits(foreign, own)).toBe(8);
  expect(watches(own, foreign)).toBe(0);
  relate(foreign, own, { follows: true });
  expect(bits(foreign, own)).toBe(0);
  expect(fold.facts.sum.text).toBe(new Fold().facts.sum.text);
});

it('a shard keeps nothing of relations between foreign riders, nor of their ids', () => {
  const { fold, relate } = shardFold();
  relate(foreign, otherForeign, { follows: true, blocked: true });
  relate(foreign, own, { follows: true });
  relate(otherForeign, own, null);
  expect(fold.facts.riderIds.size).toBe(0);
  expect(fold.facts.sum.text).toBe(new Fold().facts.sum.text);
  expect(fold.subject.first).toBe(-1);
});

it('a block that is lifted by a tombstone is lifted in the shard of who was blocked', () => {
  const { relate, bits } = shardFold();
  relate(foreign, own, { blocked: true });
  relate(foreign, own, null);
  expect(bits(foreign, own)).toBe(0);
});
