import { topicNames } from '../../schemas/events/records.ts';
import type { Folding } from '../intake/folding.ts';
import type { Position } from '../ports/event-log.ts';
import { countText, type Log } from '../ports/log.ts';
import { isWithin } from '../position/position.ts';
import { parseStoredPosition, type StoredFanOut, type StoredPosition } from '../position/settled-position.ts';
import type { TakenTags } from './standby.ts';

/** What a new leader must do before its views stand, beside folding to the ends. */
export interface Beginning {
  /** Tags whose views must all be compared. */
  compare: ReadonlySet<number>;
  /** Names of views that were written since the position. */
  names: readonly string[];
  fanOuts: readonly StoredFanOut[];
}

interface BeginningDeps {
  folding: Folding;
  /** Which log it is; null where that is not known. */
  identity: string | null;
  log: Log;
  signal: AbortSignal;
}

/**
 * Folds through where the tags were left, up to the log's ends at most, and says what must be done for their views to be
 * right. Bad records are set aside from there on (docs/rules.md#rejected).
 */
export async function foldToBeginning(taken: TakenTags, ends: Position, deps: BeginningDeps): Promise<Beginning> {
  const { folding, identity, log } = deps;
  const left = inOrder([...taken.values()].map(({ position }) => usable(position, identity, ends)));
  const sums = await foldThrough(left, deps);
  const at = left.at(-1) ?? null;
  folding.intake.beginPublishing();
  const begin = beginning(taken, identity, ends, { sums, at });
  const { compare, names } = begin;
  log.info(
    isOfFacts(at, sums)
      ? `Leading: the log holds the facts that the views were stored with. To write again: ${countText(names.length, 'view')} that may be ahead of the stored position; to compare: ${countText(compare.size, 'tag')}`
      : `Leading: ${countText(compare.size, 'tag')} to compare`,
  );
  return begin;
}

/** Folds exactly to each of some positions; the sums of facts there, but for those that are passed already. */
async function foldThrough(
  positions: readonly StoredPosition[],
  { folding, signal }: BeginningDeps,
): Promise<Map<string, string>> {
  const sums = new Map<string, string>();
  for (const stored of positions) {
    // What is folded already can't be taken back.
    if (!isWithin(folding.position, stored.position)) continue;
    folding.limit = stored.position;
    await folding.foldTo(stored.position, signal);
    if (isWithin(stored.position, folding.position)) sums.set(placeOf(stored), folding.fold.facts.sum.text);
  }
  return sums;
}

const total = (position: Position): number =>
  topicNames.reduce((sum, topic) => sum + position[topic].reduce((a, b) => a + b, 0), 0);

/** A stored position. Null if it is of another log, or beyond this one's ends. */
export function usable(text: string | null, log: string | null, ends: Position): StoredPosition | null {
  const stored = parseStoredPosition(text);
  return stored?.log === log && isWithin(stored.position, ends) ? stored : null;
}

/** The positions that tags were left with, each once, the furthest last. */
export function inOrder(positions: Iterable<StoredPosition | null>): StoredPosition[] {
  const known = [...positions].filter((stored) => stored !== null);
  const distinct = new Map(known.map((stored) => [placeOf(stored), stored]));
  return [...distinct.values()].sort((a, b) => total(a.position) - total(b.position));
}

/** The same text for the same place in the log. */
export const placeOf = ({ position }: StoredPosition): string => JSON.stringify(position);

/** Whether the facts at a position were those that it was stored with. `sums`: of the facts at positions, by `placeOf`. */
const isOfFacts = (stored: StoredPosition | null, sums: ReadonlyMap<string, string>): stored is StoredPosition =>
  stored !== null && sums.get(placeOf(stored)) === stored.sum;

/**
 * What must be done, after folding through the positions that the tags were left with (docs/rules.md#beginning). `sums`: of
 * the facts at these positions, by `placeOf`, where they could be reached exactly: elsewhere changes were not marked. A tag
 * that was stored with another sum was left with other facts: the log lost records since, or the tag's store was restored
 * to a time before that.
 */
export function beginning(
  taken: TakenTags,
  log: string | null,
  ends: Position,
  folded: { sums: ReadonlyMap<string, string>; at: StoredPosition | null },
): Beginning {
  const { sums, at } = folded;
  const sameFacts = isOfFacts(at, sums);
  const compare = new Set<number>();
  const names: string[] = [];
  const fanOuts: StoredFanOut[] = [];
  for (const [tag, left] of taken) {
    const stored = sameFacts ? usable(left.position, log, ends) : null;
    if (!isOfFacts(stored, sums) || left.compare) {
      compare.add(tag);
    } else {
      names.push(...left.open);
      fanOuts.push(...stored.fanOuts);
    }
  }
  return { compare, names, fanOuts };
}
