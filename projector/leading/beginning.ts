import type { Folding } from '../intake/folding.ts';
import type { Position } from '../ports/event-log.ts';
import { deletedWords, isWithin, offsetsBelow } from '../position/position.ts';
import { parseStoredPosition, type StoredFanOut, type StoredPosition } from '../position/settled-position.ts';
import { countText, type Log } from '../running/log.ts';
import type { TakenTags } from './standby.ts';

/** What a new leader must do before its views stand, beside folding to the ends. */
export interface Beginning {
  /** Tags whose views must all be compared. */
  compare: ReadonlySet<number>;
  /** Names of views that were written since the position. */
  names: readonly string[];
  fanOuts: readonly StoredFanOut[];
  /** What was deleted from the log since the views were stored, in words. Null: nothing. */
  deleted: string | null;
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
 * right (docs/rules.md#beginning). A tag that was stored with another sum was left with other facts: the log lost records
 * since, or the tag's store was restored to a time before that. Bad records are set aside from there on
 * (docs/rules.md#rejected).
 */
export async function foldToBeginning(taken: TakenTags, ends: Position, deps: BeginningDeps): Promise<Beginning> {
  const { folding, identity, log } = deps;
  const left = new Map([...taken].map(([tag, { position }]) => [tag, usable(position, identity, ends)]));
  const inTurn = inOrder(left.values());
  const sums = await foldThrough(inTurn, deps);
  const isOfFacts = (stored: StoredPosition | null | undefined): stored is StoredPosition =>
    stored != null && sums.get(placeOf(stored)) === stored.sum;
  folding.intake.aside.begin();
  const compare = new Set<number>();
  const names: string[] = [];
  const fanOuts: StoredFanOut[] = [];
  const sameFacts = isOfFacts(inTurn.at(-1));
  for (const [tag, { open, compare: isDoubtful }] of taken) {
    const stored = left.get(tag);
    if (sameFacts && isOfFacts(stored) && !isDoubtful) {
      names.push(...open);
      fanOuts.push(...stored.fanOuts);
    } else compare.add(tag);
  }
  log.info(
    sameFacts
      ? `Leading: the log holds what the views were made of. To write again: ${countText(names.length, 'view')} that may be ahead of the stored position; to compare: ${countText(compare.size, 'part')} of the store`
      : `Leading: ${countText(compare.size, 'part')} of the store to compare`,
  );
  const deleted = deletedWords(
    [...left.values()].filter((stored) => stored !== null),
    folding.begin,
  );
  return { compare, names, fanOuts, deleted };
}

/**
 * Folds exactly to each of some positions. Returns the sums of facts there, by `placeOf`, but for those that are passed
 * already: from there changes were not marked.
 */
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

/** A stored position. Null if it is of another log, or beyond this one's ends. */
function usable(text: string | null, log: string | null, ends: Position): StoredPosition | null {
  const stored = parseStoredPosition(text);
  return stored?.log === log && isWithin(stored.position, ends) ? stored : null;
}

/** The positions that tags were left with, each once, the furthest last. */
export function inOrder(positions: Iterable<StoredPosition | null>): StoredPosition[] {
  const known = [...positions].filter((stored) => stored !== null);
  const distinct = new Map(known.map((stored) => [placeOf(stored), stored]));
  return [...distinct.values()].sort((a, b) => offsetsBelow(a.position) - offsetsBelow(b.position));
}

/** The same text for the same place in the log. */
const placeOf = ({ position }: StoredPosition): string => JSON.stringify(position);
