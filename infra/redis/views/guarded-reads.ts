import { StoreAwayError } from '../../../api/ports/view-reader.ts';
import { completeKey, isCompleteKey } from '../../../schemas/views/view-keys.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import type { ReadGuard } from '../leadership/read-guard.ts';

/** The commands that views are read with. Keys are those of schemas/views/view-keys.ts. */
interface ReadCommands {
  /** Some views, read at one moment. In a cluster all `keys` are of one tag. */
  get(keys: readonly string[]): Promise<(Buffer | null)[]>;
  /** What these keys, which `get` did not find, hold now. Rejects if one of them has another type. */
  again(keys: readonly string[]): Promise<readonly (Buffer | null)[]>;
  fields(key: string, fields: readonly string[]): Promise<(Buffer | null)[]>;
}

interface GuardedReadsDeps {
  commands: ReadCommands;
  guard: Pick<ReadGuard, 'covers' | 'isComplete'> & { formats: Pick<ReadGuard['formats'], 'current' | 'reason'> };
  /** The tags are spread over several masters, so no command reads two of them. */
  isCluster: boolean;
}

/**
 * Reads views where the guard says that none are lost, and that they may be served (docs/rules.md#absence). Throws
 * StoreAwayError elsewhere.
 */
export function guardedReads({ commands, guard, isCluster }: GuardedReadsDeps) {
  const away = (cause: unknown): never => {
    throw new StoreAwayError(`Cannot read views: ${(cause as Error).message}`, { cause });
  };
  const assertCovered = (tags: Iterable<number>): void => {
    if (!guard.covers(tags))
      throw new StoreAwayError('Cannot read views: they are not known to be complete in this Redis process');
  };
  /** A stamp that names another process counts as absent (docs/rules.md#complete). */
  const believed = (key: string, value: Buffer | null): Buffer | null =>
    value === null || !isCompleteKey(key) || guard.isComplete(parseKey(key).tag, value.toString()) ? value : null;

  // docs/rules.md#ready-api
  const assertCurrent = (): void => {
    if (!guard.formats.current)
      throw new StoreAwayError(
        `Cannot read views: ${guard.formats.reason ?? 'it is not known yet whether they are led'}`,
      );
  };
  const get = async (keys: readonly string[]): Promise<(Buffer | null)[]> => {
    const distinct = [...new Set(keys)];
    const byTag = Map.groupBy(distinct, (key) => parseKey(key).tag);
    assertCovered(byTag.keys());
    const found = new Map<string, Buffer | null>();
    // One command, or in a cluster one per tag: a missing view, and whether its tag is complete, are read at the same
    // moment.
    const groups = isCluster ? [...byTag.values()] : [distinct];
    const read = async (group: readonly string[]): Promise<void> => {
      const values = await commands.get(group);
      const absent = group.filter((key, i) => values[i] === null && !isCompleteKey(key));
      const again = await commands.again(absent);
      for (const [i, key] of group.entries()) found.set(key, believed(key, values[i]!));
      // One may have had another type, and been replaced between the two commands: it was not absent. Whether its tag is
      // complete is still as of the first command: who read fields just before relies on that.
      for (const [i, key] of absent.entries()) found.set(key, again[i] ?? null);
    };
    await Promise.all(groups.map(read)).catch(away);
    assertCovered(byTag.keys());
    return keys.map((key) => found.get(key)!);
  };

  return {
    async get(keys: readonly string[]) {
      assertCurrent();
      return get(keys);
    },
    /** Whether all views of these tags are there. */
    areComplete: async (tags: readonly number[]) => (await get(tags.map(completeKey))).every(Boolean),
    async fields(key: string, fields: readonly string[]) {
      assertCurrent();
      assertCovered([parseKey(key).tag]);
      return commands.fields(key, fields).catch(away);
    },
  };
}
