import type { Arg, RedisConnection } from './redis-connection.ts';

/** Asks the master that the keys were found on. */
type Master = (args: Arg[]) => Promise<unknown>;

interface ScanOptions {
  /** What names begin with, as it stands: no pattern. */
  prefix: string;
  /** What stands somewhere behind that, as it stands. */
  within?: string;
  /** About how many keys Redis looks at for one step. */
  count?: number;
  signal?: AbortSignal;
}

/** The names of keys, some at a time, master by master. A name may come twice. Throws the signal's reason. */
export async function* scanKeys(
  connection: RedisConnection,
  { prefix, within = '', count = 1_000, signal }: ScanOptions,
): AsyncIterable<{ master: Master; names: Buffer[] }> {
  const pattern = `${literal(prefix)}*${within && `${literal(within)}*`}`;
  for (const master of await connection.masters()) {
    let cursor = '0';
    do {
      signal?.throwIfAborted();
      const found = await master(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(count)]);
      const [next, names] = found as [Buffer, Buffer[]];
      cursor = next.toString();
      yield { master, names };
    } while (cursor !== '0');
  }
}

const literal = (text: string): string => text.replace(/[[\]*?\\]/g, '\\$&');
