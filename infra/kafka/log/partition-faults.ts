import type { Log } from '../../../projector/ports/log.ts';
import { causeChain } from '../../net/cause-chain.ts';
import { LoggedBackOff } from '../client/logged-back-off.ts';
import type { FollowedPartition } from './followed-partition.ts';

/**
 * Partitions that cannot be read now, each with its own back-off. The other partitions of the broker are read
 * meanwhile.
 */
export class PartitionFaults {
  readonly #backOffs = new Map<FollowedPartition, LoggedBackOff>();
  readonly #paused = new Set<FollowedPartition>();
  readonly #log: Log;
  readonly #signal: AbortSignal;

  constructor(log: Log, signal: AbortSignal) {
    this.#log = log;
    this.#signal = signal;
  }

  /** Whether a partition must not be fetched now. */
  isPaused(partition: FollowedPartition): boolean {
    return this.#paused.has(partition);
  }

  /**
   * Resolves when the partition may be fetched again. Throws errors that waiting does not fix, and the signal's reason.
   */
  async failed(partition: FollowedPartition, error: unknown): Promise<void> {
    let backOff = this.#backOffs.get(partition);
    if (!backOff) {
      const what = `Cannot read ${partition.topic}/${partition.partition} from Kafka`;
      backOff = new LoggedBackOff(what, { log: this.#log, signal: this.#signal });
      this.#backOffs.set(partition, backOff);
    }
    this.#paused.add(partition);
    try {
      await backOff.failed(error);
    } finally {
      this.#paused.delete(partition);
    }
  }

  succeeded(partition: FollowedPartition): void {
    this.#backOffs.get(partition)?.succeeded();
    this.#backOffs.delete(partition);
  }
}

const unreachable = new Set(['PLT_KFK_NETWORK', 'PLT_KFK_TIMEOUT', 'PLT_KFK_AUTHENTICATION', 'PLT_KFK_USER']);

/** Whether Kafka answered, but not readably: a corrupt batch, or an unknown compression. */
export function isUnreadable(error: unknown): boolean {
  for (const one of causeChain(error)) {
    const { code, name, syscall } = one as NodeJS.ErrnoException;
    if (name === 'AbortError' || unreachable.has(code ?? '') || syscall !== undefined) return false;
  }
  return true;
}
