import { Redis } from 'ioredis';

/** Every key below a prefix and its value, as text in latin1; a hash's fields and a sorted set's members as `key field`, in order. Not those that go away meanwhile. */
export async function dumpRedis(redis: Redis, prefix: string): Promise<Map<string, string>> {
  const dump: [string, string][] = [];
  let cursor = '0';
  do {
    const [next, names] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 5_000);
    cursor = next;
    // Asked all at once: thousands of round trips take seconds.
    const types = await Promise.all(names.map((name) => redis.type(name)));
    const found = await Promise.all(names.map((name, i) => entriesOf(redis, name, types[i]!)));
    for (const entries of found) dump.push(...entries);
  } while (cursor !== '0');
  return new Map(dump.sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function entriesOf(redis: Redis, name: string, type: string): Promise<[string, string][]> {
  switch (type) {
    case 'string': {
      const value = await redis.getBuffer(name);
      return value === null ? [] : [[name, value.toString('latin1')]];
    }
    case 'hash':
      return Object.entries(await redis.hgetallBuffer(name)).map(([field, value]) => [
        `${name} ${field}`,
        value.toString('latin1'),
      ]);
    case 'zset':
      return (await redis.zrange(name, '0', '-1')).map((member) => [`${name} ${member}`, '']);
    case 'none':
      return [];
    default:
      throw new Error(`Cannot dump ${name}: a ${type} is neither a string, a hash nor a sorted set`);
  }
}

/** Every view under a key prefix, without the prefix, as text that can be compared. */
export async function storedViews(url: string, prefix: string): Promise<Map<string, string>> {
  const client = new Redis(url);
  const dump = await dumpRedis(client, prefix).finally(() => client.disconnect());
  const views = [...dump].map(([key, value]): [string, string] => [key.slice(prefix.length), value]);
  return new Map(views.filter(([key]) => isView(key)));
}

/** Deletes all keys under a prefix at once, as FLUSHALL does in a Redis of one's own. */
export async function deleteAll(url: string, prefix: string): Promise<void> {
  const client = new Redis(url);
  const script = "local k = redis.call('KEYS', ARGV[1]) for i = 1, #k do redis.call('DEL', k[i]) end return #k";
  const deleted = await client.eval(script, 0, `${prefix}*`).finally(() => client.disconnect());
  if (deleted === 0) throw new Error(`Cannot delete what is under ${prefix}: nothing is`);
}

/** Fences, stamps, positions and open lists say what was done, not what the facts are (infra/redis/redis-keys.ts). */
export const isView = (key: string): boolean => /^g\d+:(?:pub|me):\{v\d+\}:(?!complete:)[a-z]+:/.test(key);

/** What two stores differ in: views that the second lacks or has with other bytes, and those that only it has. */
export function viewDifferences(wanted: ReadonlyMap<string, string>, got: ReadonlyMap<string, string>): string[] {
  const wrong = [...wanted].filter(([key, value]) => got.get(key) !== value).map(([key]) => `differs: ${key}`);
  const dangling = [...got.keys()].filter((key) => !wanted.has(key)).map((key) => `is dangling: ${key}`);
  return [...wrong, ...dangling];
}
