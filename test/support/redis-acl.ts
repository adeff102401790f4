import { Redis } from 'ioredis';

/** Gives the servers a user with these rights alone; returns the URL of the first one that signs it in. */
export async function redisUserWith(urls: readonly string[], name: string, rights: readonly string[]): Promise<string> {
  for (const url of urls)
    await asAdmin(url, (admin) => admin.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', 'resetchannels', ...rights));
  return urls[0]!.replace('//', `//${name}:pw@`);
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
