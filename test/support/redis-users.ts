import { readFileSync } from 'node:fs';

/** The users of infra/deploy/redis-users.acl, for the keys of a prefix: a test grants exactly what operators are told to. */
export const redisUsersFile = new URL('../../infra/deploy/redis-users.acl', import.meta.url);
const filePrefix = 'ride-calendar:';

/** The rights of a user there, such as `+get` and `~t1f0c:pub:*`; all keys of ours stand under `keyPrefix`. */
export function redisRights(user: 'projector' | 'api' | 'sign-in', keyPrefix: string): string[] {
  const line = readFileSync(redisUsersFile, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`user ${user} `))!;
  return line
    .split(' ')
    .filter((word) => /^[+~&%]/.test(word))
    .map((right) => right.replace(filePrefix, keyPrefix));
}
