import { tagsOfShard } from '../../schemas/views/view-keys.ts';
import { blocked, type Facts } from './facts.ts';
import { relationEdge } from './facts-sum.ts';
import { RiderTags } from './rider-tags.ts';

/** The sum of the facts that a shard keeps of these, which are all (fold.ts says what it keeps). */
export function sumOfShard(facts: Facts, index: number, count: number): string {
  if (count === 1) return facts.sum.text;
  const own = new Set(tagsOfShard(index, count));
  const { relations, riderIds } = facts;
  const tags = new RiderTags(riderIds);
  const sum = facts.sum.copy();
  for (let reader = 0; reader < riderIds.size; reader++) {
    if (own.has(tags.of(reader))) continue;
    for (let i = 0; i < relations.length(reader); i++) {
      const other = relations.id(reader, i);
      const bits = relations.bits(reader, i);
      const kept = own.has(tags.of(other)) ? bits & blocked : 0;
      if (kept !== bits) sum.edge(relationEdge, riderIds, reader, riderIds, other, bits, kept);
    }
  }
  return sum.text;
}
