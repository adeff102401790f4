import type { Redis } from 'ioredis';

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
  const latin1 = (value: Buffer): string => value.toString('latin1');
  if (type === 'none') return [];
  if (type === 'zset') return (await redis.zrange(name, '0', '-1')).map((member) => [`${name} ${member}`, '']);
  if (type === 'hash')
    return Object.entries(await redis.hgetallBuffer(name)).map(([field, value]) => [`${name} ${field}`, latin1(value)]);
  if (type !== 'string') throw new Error(`Cannot dump ${name}: a ${type} is neither a string, a hash nor a sorted set`);
  const value = await redis.getBuffer(name);
  return value === null ? [] : [[name, latin1(value)]];
}
