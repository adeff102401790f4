import { Redis } from 'ioredis';
import { dumpRedis } from './redis-dump.ts';

/** Every view under a key prefix, without the prefix, as text that can be compared. */
export async function storedViews(url: string, prefix: string): Promise<Map<string, string>> {
  const client = new Redis(url);
  const dump = await dumpRedis(client, prefix).finally(() => client.disconnect());
  const views = [...dump].map(([key, value]): [string, string] => [key.slice(prefix.length), value]);
  return new Map(views.filter(([key]) => isView(key)));
}

/** Fences, stamps, positions and open lists say what was done, not what the facts are (infra/redis/redis-keys.ts). */
export const isView = (key: string): boolean => /^g\d+:(?:pub|me):\{v\d+\}:(?!complete:)[a-z]+:/.test(key);

/** What two stores differ in: views that the second lacks or has with other bytes, and those that only it has. */
export function viewDifferences(wanted: ReadonlyMap<string, string>, got: ReadonlyMap<string, string>): string[] {
  const wrong = [...wanted].filter(([key, value]) => got.get(key) !== value).map(([key]) => `differs: ${key}`);
  const dangling = [...got.keys()].filter((key) => !wanted.has(key)).map((key) => `is dangling: ${key}`);
  return [...wrong, ...dangling];
}
