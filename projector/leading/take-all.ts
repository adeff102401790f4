import type { Leadership, TakenTag } from '../ports/view-writer.ts';

/** The tags that a projector has taken, with what was left there. */
export type TakenTags = ReadonlyMap<number, TakenTag>;

/**
 * Takes all tags or none, each from the exact fence that was seen. Null where a fence is another one by now; what was
 * taken is given up again then. The first tag is taken by itself: of a hundred that try at once one gets it, and goes on
 * with all others at once, because one after the other would be 64 round trips without a leader.
 */
export async function takeAll(
  leadership: Leadership,
  tags: readonly number[],
  seen: readonly string[],
  isDoubtful: (tag: number) => boolean = () => false,
): Promise<TakenTags | null> {
  const take = (tag: number, i: number) => leadership.take(tag, seen[i]!, isDoubtful(tag));
  const first = await take(tags[0]!, 0);
  if (!first) return null;
  const others = await Promise.allSettled(tags.slice(1).map((tag, i) => take(tag, i + 1)));
  const found = [first, ...others.map((each) => (each.status === 'fulfilled' ? each.value : null))];
  const taken = new Map(tags.flatMap((tag, i) => (found[i] ? [[tag, found[i]]] : [])));
  if (taken.size === tags.length) return taken;
  await Promise.all([...taken.keys()].map((tag) => leadership.free(tag)));
  const failed = others.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
  return null;
}
