import { causeChain } from '../net/cause-chain.ts';

/** What Redis answers instead of doing as it is told, while waiting may help. */
const answers: Record<string, string> = {
  OOM: 'is full (OOM); raise its maxmemory',
  READONLY: 'is a replica, which takes no writes (READONLY); name its master',
  MISCONF: 'cannot save to its disk, and takes no writes until it can (MISCONF); its own log says why',
  LOADING: 'is still loading its data (LOADING)',
  CLUSTERDOWN: 'lacks some masters of its cluster (CLUSTERDOWN)',
  MASTERDOWN: 'is a replica that has lost its master (MASTERDOWN)',
  NOREPLICAS: 'takes no writes, because too few replicas follow it (NOREPLICAS)',
};

/**
 * Why a Redis cannot be used now, in words that follow "it ". They are shown to everybody on /readyz, so they name no
 * address: the messages of network errors do.
 */
export function redisAway(error: unknown): string {
  // ioredis keeps the error of a cluster node in a property of its own.
  const { lastNodeError } = (error ?? {}) as { lastNodeError?: unknown };
  for (const { message } of [...causeChain(error), ...causeChain(lastNodeError)]) {
    const answer = Object.keys(answers).find((name) => new RegExp(`(^|[ -])${name} `).test(message));
    if (answer !== undefined) return answers[answer]!;
  }
  for (const one of [...causeChain(error), ...causeChain(lastNodeError)]) {
    const { code } = one as NodeJS.ErrnoException;
    if (code !== undefined && /^E[A-Z]+$/.test(code)) return `cannot be reached (${code})`;
  }
  return 'does not answer';
}
