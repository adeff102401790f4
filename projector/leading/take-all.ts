import type { Leadership, TakenTag } from '../ports/view-writer.ts';

/** The tags that a projector has taken, with what was left there. */
export type TakenTags = ReadonlyMap<number, TakenTag>;

/**
 * Takes all tags or none, in ascending order, each from the exact fence that was seen: of a hundred that try at once one
 * gets all. Null where a fence is another one by now; what was taken before it is given up again.
 */
export async function takeAll(
  leadership: Leadership,
  tags: readonly number[],
  seen: readonly string[],
  isDoubtful: (tag: number) => boolean = () => false,
): Promise<TakenTags | null> {
  const taken = new Map<number, TakenTag>();
  for (const [i, tag] of tags.entries()) {
    const found = await leadership.take(tag, seen[i]!, isDoubtful(tag));
    if (found) taken.set(tag, found);
    else {
      for (const before of taken.keys()) await leadership.free(before);
      return null;
    }
  }
  return taken;
}
