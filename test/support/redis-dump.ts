import type { Redis } from 'ioredis';

/** Every key below a prefix and its value, as text in latin1; a hash's fields and a sorted set's members as `key field`, in order. Not those that go away meanwhile. */
export async function dumpRedis(redis: Redis, prefix: string): Promise<Map<string, string>> {
  const dump = new Map<string, string>();
  let cursor = '0';
  do {
    const [next, names] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 5_000);
    cursor = next;
    for (const name of names) {
      const type = await redis.type(name);
      if (type === 'string') dump.set(name, (await redis.getBuffer(name))!.toString('latin1'));
      else if (type === 'hash') {
        for (const [field, value] of Object.entries(await redis.hgetallBuffer(name)))
          dump.set(`${name} ${field}`, value.toString('latin1'));
      } else if (type === 'zset') {
        for (const member of await redis.zrange(name, '0', '-1')) dump.set(`${name} ${member}`, '');
      } else if (type !== 'none')
        throw new Error(`Cannot dump ${name}: a ${type} is neither a string, a hash nor a sorted set`);
    }
  } while (cursor !== '0');
  return new Map([...dump].sort(([a], [b]) => (a < b ? -1 : 1)));
}
