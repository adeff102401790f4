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
  /** Log lines for the end of this turn of the event loop. One answer may name many partitions, which share a line. */
  readonly #toSay = new Map<string, { level: keyof Log; rest: string; names: string[] }>();

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
      const name = `${partition.topic}/${partition.partition}`;
      const what = cannotRead([name]);
      const say = (level: keyof Log) => (line: string) => this.#say(level, name, line.slice(what.length));
      const log = { info: say('info'), warn: say('warn'), error: say('error') };
      backOff = new LoggedBackOff(what, { log, signal: this.#signal });
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

  #say(level: keyof Log, name: string, rest: string): void {
    if (this.#toSay.size === 0) setImmediate(() => this.#sayAll());
    const line = this.#toSay.get(level + rest) ?? { level, rest, names: [] };
    line.names.push(name);
    this.#toSay.set(level + rest, line);
  }

  #sayAll(): void {
    for (const { level, rest, names } of this.#toSay.values()) this.#log[level](cannotRead(names) + rest);
    this.#toSay.clear();
  }
}

const cannotRead = (names: readonly string[]): string => `Cannot read ${names.join(', ')} from Kafka`;

const unreachable = new Set(['PLT_KFK_NETWORK', 'PLT_KFK_TIMEOUT', 'PLT_KFK_AUTHENTICATION', 'PLT_KFK_USER']);

/** Whether Kafka answered, but not readably: a corrupt batch, or an unknown compression. */
export function isUnreadable(error: unknown): boolean {
  for (const one of causeChain(error)) {
    const { code, name, syscall } = one as NodeJS.ErrnoException;
    if (name === 'AbortError' || unreachable.has(code ?? '') || syscall !== undefined) return false;
  }
  return true;
}
