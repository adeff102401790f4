import { causeChain } from '../net/cause-chain.ts';
import { certificateFault } from '../net/certificate-fault.ts';
import { missingRight } from './redis-rights.ts';

/**
 * Why waiting for a Redis will not help, and what to do, in words that follow "it ". Null if waiting may help.
 * `setting` names the setting with its URL, `scriptRights` the commands of the scripts that are run there.
 */
export function redisRefusal(error: unknown, setting: string, scriptRights?: string): string | null {
  // ioredis keeps the error of a cluster node in a property of its own.
  const { lastNodeError } = (error ?? {}) as { lastNodeError?: unknown };
  for (const one of [...causeChain(error), ...causeChain(lastNodeError)]) {
    const { message } = one;
    const right = missingRight(one, scriptRights);
    if (right !== null) return `does not let the user of ${setting} do all it must; grant it ${right} (ACL SETUSER)`;
    if (/^(WRONGPASS|NOAUTH)/.test(message)) return `refuses the user and password of ${setting} (${message})`;
    if (message.startsWith('MOVED')) return 'is a Redis Cluster; set REDIS_CLUSTER=true';
    if (message.includes('cluster support disabled')) return 'is not a Redis Cluster; leave REDIS_CLUSTER out';
    const certificate = certificateFault(one, 'the server', setting);
    if (certificate) return `can't be trusted: ${certificate}`;
  }
  return null;
}
