import { LogTruncatedError } from '../../projector/ports/event-log.ts';
import type { Log } from '../../projector/ports/log.ts';
import { causeChain } from '../net/cause-chain.ts';
import type { ReaderPartition } from './kafka-reader.ts';
import { errorText, isUnauthorized, MissingKafkaRightError } from './kafka-refusal.ts';
import { LoggedBackOff } from './kafka-retry.ts';

/**
 * Partitions that cannot be read now, each with its own back-off. The other partitions of the broker are read
 * meanwhile.
 */
export class PartitionFaults {
  readonly #backOffs = new Map<ReaderPartition, LoggedBackOff>();
  readonly #resting = new Set<ReaderPartition>();
  readonly #log: Log;
  readonly #signal: AbortSignal;
  /** What is to be said at the end of this turn, and of which partitions: an answer of Kafka may be about many. */
  readonly #toSay = new Map<string, { level: keyof Log; rest: string; names: string[] }>();

  constructor(log: Log, signal: AbortSignal) {
    this.#log = log;
    this.#signal = signal;
  }

  /** Whether a partition must not be fetched now. */
  rests(partition: ReaderPartition): boolean {
    return this.#resting.has(partition);
  }

  /**
   * Resolves when the partition may be fetched again. Throws errors that waiting does not fix, and the signal's reason.
   */
  async failed(partition: ReaderPartition, error: unknown): Promise<void> {
    let backOff = this.#backOffs.get(partition);
    if (!backOff) {
      const name = `${partition.topic}/${partition.partition}`;
      const what = cannotRead([name]);
      const say = (level: keyof Log) => (line: string) => this.#say(level, name, line.slice(what.length));
      const log = { info: say('info'), warn: say('warn'), error: say('error') };
      backOff = new LoggedBackOff(what, { log, signal: this.#signal });
      this.#backOffs.set(partition, backOff);
    }
    this.#resting.add(partition);
    try {
      await backOff.failed(error);
    } finally {
      this.#resting.delete(partition);
    }
  }

  succeeded(partition: ReaderPartition): void {
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

/** Whether there was a response that cannot be read: a corrupt batch, or an unknown compression. */
export function isUnreadable(error: unknown): boolean {
  for (const one of causeChain(error)) {
    const { code, name, syscall } = one as NodeJS.ErrnoException;
    if (name === 'AbortError' || unreachable.has(code ?? '') || syscall !== undefined) return false;
  }
  return true;
}

/** The error for one of Kafka's error codes of a partition. */
export const errorOf = ({ topic }: ReaderPartition, code: number): Error =>
  isUnauthorized(code)
    ? new MissingKafkaRightError(`Read on topic ${topic}`)
    : new Error(`it answers with ${errorText(code)}`);

export function diverged({ topic, partition, offset }: ReaderPartition): LogTruncatedError {
  return new LogTruncatedError(
    `Cannot go on at ${topic}/${partition}@${offset}: Kafka lost records that were read, and has others in their place (an unclean leader election, or a restored broker); start again, to fold the log from its start`,
  );
}

export function truncated({ topic, partition, offset }: ReaderPartition): LogTruncatedError {
  return new LogTruncatedError(
    `Cannot read ${topic}/${partition}@${offset}: Kafka no longer has this offset (records were deleted, or a broker lost them); start again, to fold the log from its start`,
  );
}

export function awayTooLong({ topic, partition, offset }: ReaderPartition, awayMsMax: number): LogTruncatedError {
  const hours = Math.round(awayMsMax / 360_000) / 10;
  return new LogTruncatedError(
    `Cannot go on at ${topic}/${partition}@${offset}: it went unread for more than ${hours} hours, half of delete.retention.ms, so tombstones may be gone; start again, to fold the log from its start`,
  );
}
