import { causeChain } from '../net/cause-chain.ts';
import { certificateFault } from '../net/certificate-fault.ts';

/** ioredis keeps the error of a cluster node in a property of its own. */
function causesOf(error: unknown): Error[] {
  const { lastNodeError } = (error ?? {}) as { lastNodeError?: unknown };
  return [...causeChain(error), ...causeChain(lastNodeError)];
}

interface Asked {
  /** The setting with the URL. */
  setting: string;
  /** Whether REDIS_CLUSTER is set. In a cluster that fails over, masters answer MOVED for a while, which is no refusal. */
  cluster: boolean;
  /** The commands of the scripts that are run there. */
  scriptRights?: string;
}

interface Refusal {
  /** Why, and what to do, in words that follow "it ". */
  words: string;
  /** Nothing but another setting helps. A password or a right may be given while the process waits. */
  ends: boolean;
}

/** Why a Redis that can be reached refuses what it is asked. Null: the error says no such thing. */
export function redisRefusal(error: unknown, { setting, cluster, scriptRights }: Asked): Refusal | null {
  for (const one of causesOf(error)) {
    const { message } = one;
    const right = missingRight(one, scriptRights);
    if (right !== null) {
      const words = `does not let the user of ${setting} do all it must; grant it ${right} (ACL SETUSER)`;
      return { words, ends: false };
    }
    // The last one is Redis's answer where no password was sent, to a command of over ten words, such as EVALSHA.
    if (/^(WRONGPASS|NOAUTH|ERR Protocol error: unauthenticated)/.test(message))
      return { words: `refuses the user and password of ${setting} (${message})`, ends: false };
    if (message.startsWith('MOVED') && !cluster)
      return { words: 'is a Redis Cluster; set REDIS_CLUSTER=true', ends: true };
    if (message.includes('cluster support disabled'))
      return { words: 'is not a Redis Cluster; leave REDIS_CLUSTER out', ends: true };
    const certificate = certificateFault(one, 'the server', setting);
    if (certificate) return { words: `can't be trusted: ${certificate}`, ends: true };
  }
  return null;
}

/** Refusals that may pass by waiting, by the first word of Redis's answer, or the code of an error of TLS. */
const answers: Record<string, string> = {
  OOM: 'is full (OOM); raise its maxmemory',
  READONLY: 'is a replica, which takes no writes (READONLY); name its master',
  MISCONF: 'cannot save to its disk, and takes no writes until it can (MISCONF); its own log says why',
  BUSY: 'is busy with a script that does not end (BUSY); end it with SCRIPT KILL',
  LOADING: 'is still loading its data (LOADING)',
  TRYAGAIN: 'is moving slots between its masters, and reads no several keys of these until that ends (TRYAGAIN)',
  CERT_HAS_EXPIRED: 'shows a certificate that has ended (CERT_HAS_EXPIRED); renew it',
  CERT_NOT_YET_VALID: 'shows a certificate that is not valid yet (CERT_NOT_YET_VALID); look at both clocks',
  CLUSTERDOWN: 'lacks some masters of its cluster (CLUSTERDOWN)',
  MASTERDOWN: 'is a replica that has lost its master (MASTERDOWN)',
  NOREPLICAS: 'takes no writes, because too few replicas follow it (NOREPLICAS)',
};

/** Why a Redis that can be reached refuses for now, in words that follow "it ". Null: the errors say no such thing. */
export function refusesNow(...errors: unknown[]): string | null {
  for (const one of errors.flatMap(causesOf)) {
    const said = `${(one as NodeJS.ErrnoException).code} ${one.message}`;
    const answer = Object.keys(answers).find((name) => new RegExp(`(^|[ -])${name} `).test(said));
    if (answer !== undefined) return answers[answer]!;
  }
  return null;
}

/**
 * Why a Redis cannot be used now, in words that follow "it ". The first error that has a reason counts. /readyz shows the
 * words to everybody, so they name no address, as the messages of network errors do.
 */
export function redisAway(...errors: unknown[]): string {
  const refused = refusesNow(...errors);
  if (refused !== null) return refused;
  for (const one of errors.flatMap(causesOf)) {
    const { code } = one as NodeJS.ErrnoException;
    if (/^E[A-Z]+$/.test(code ?? '')) return `cannot be reached (${code})`;
  }
  return 'does not answer';
}

/** The channel of Redis's invalidation messages. */
export const invalidationChannel = '__redis__:invalidate';

/** The commands that the writer's scripts call. */
const writerRights =
  '+get +mget +getrange +set +mset +del +hset +hdel +zadd +zrem +zscore +zcard +zrange +zremrangebyscore +zunionstore +time +info';
/** The commands that sign-in's scripts call. */
export const signInRights =
  '+set +incrby +pttl +del +hget +hset +hdel +hgetall +hincrby +exists +pexpireat +time +zadd +zrange +zrem +zremrangebyscore +zscan';

/**
 * The right that a Redis user lacks, as an operator would grant it, parsed from Redis's error: `+subscribe`,
 * `&__redis__:invalidate`. Null for any other error. Where a command within a script was refused, Redis before 7.2 does not
 * name it: then the answer is `scriptRights`, the rights of all commands there.
 */
export function missingRight(error: unknown, scriptRights = writerRights): string | null {
  for (const { message } of causeChain(error)) {
    const command = /no permissions to run the '([^']+)' command/i.exec(message)?.[1];
    if (command) return `+${command.toLowerCase()}`;
    if (/user executing the script can't run/i.test(message)) return scriptRights;
    if (/^NOPERM.*channel/i.test(message)) return `&${invalidationChannel}`;
    if (/^NOPERM.*key/i.test(message)) return '~<REDIS_KEY_PREFIX>*';
  }
  return null;
}

/** The rights that the Redis user of the views lacks, by what commands failed with, as a note for operators. Null: none. */
export function missingRights(errors: readonly unknown[]): string | null {
  const lacking = new Set(errors.map((error) => missingRight(error)));
  lacking.delete(null);
  if (lacking.size === 0) return null;
  return `the Redis user of REDIS_URL lacks ${[...lacking].join(', ')}: grant it with ACL SETUSER`;
}
