import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';

/** The users of infra/deploy/redis-users.acl, for the keys of a prefix: a test grants exactly what operators are told to. */
export const redisUsersFile = new URL('../../../infra/deploy/redis-users.acl', import.meta.url);
const filePrefix = 'ride-calendar:';
type User = 'projector' | 'api' | 'sign-in';

/** The rights of a user there, such as `+get` and `~t1f0c:pub:*`; all keys of ours stand under `keyPrefix`. */
export function redisRights(user: User, keyPrefix: string): string[] {
  const line = readFileSync(redisUsersFile, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`user ${user} `))!;
  return line
    .split(' ')
    .filter((word) => /^[+~&%]/.test(word))
    .map((right) => right.replace(filePrefix, keyPrefix));
}

/** Gives the servers a user with these rights alone; returns the URL of the first one that signs it in. */
export async function redisUserWith(urls: readonly string[], name: string, rights: readonly string[]): Promise<string> {
  for (const url of urls)
    await asAdmin(url, (admin) => admin.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', 'resetchannels', ...rights));
  return urls[0]!.replace('//', `//${name}:pw@`);
}

/** A user of the server without one of its rights, or for `~` without any key: its URL, and how messages name what it lacks. */
export async function redisUserLacking(lacking: string, of: { user: User; url: string; keyPrefix: string }) {
  const isKeys = lacking === '~';
  const rights = redisRights(of.user, of.keyPrefix).filter((one) => (isKeys ? !one.startsWith('~') : one !== lacking));
  const url = await redisUserWith([of.url], 'lacking', rights);
  return { url, named: isKeys ? '~<REDIS_KEY_PREFIX>*' : lacking };
}

/** What a user asked the servers for and was refused, by Redis's own account. */
export async function refusedByRedis(urls: readonly string[], name: string): Promise<string[]> {
  const refused: string[] = [];
  for (const url of urls) {
    const entries = (await asAdmin(url, (admin) => admin.call('ACL', 'LOG', '1000'))) as (string | number)[][];
    for (const entry of entries) {
      const field = (of: string): string => String(entry[entry.indexOf(of) + 1]);
      if (field('username') === name) refused.push(field('object'));
    }
  }
  return refused;
}

async function asAdmin<T>(url: string, does: (admin: Redis) => Promise<T>): Promise<T> {
  const admin = new Redis(url);
  try {
    return await does(admin);
  } finally {
    admin.disconnect();
  }
}
