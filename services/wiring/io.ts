import type { Settings } from '../settings/settings.ts';

/** What a command talks to. */
export interface Io {
  /** One line to standard output: the command's result. */
  out(line: string): void;
  /** One line to standard error: what it is doing, or why it can't. */
  err(line: string): void;
  /** Whether somebody watches standard error, so that progress may be drawn. */
  watched: boolean;
  /** Aborts on Ctrl-C or SIGTERM: finish what is in hand, and end. */
  signal: AbortSignal;
}

/** The same without progress where a script reads what the command says. */
export function quietIf(json: boolean, io: Io): Io {
  if (!json) return io;
  const { out, err, signal } = io;
  return { out, err, signal, watched: false };
}

/** What a command comes to: 0 done, 1 it found something wrong or failed half-way, 2 it can't be run like this. */
export type ExitCode = 0 | 1 | 2;

/** The command can't be run as it was asked to: told in one line, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** The Kafka settings of a command that can't do without. Throws UsageError naming KAFKA_BROKERS. */
export function needKafka(settings: Settings, command: string): NonNullable<Settings['kafka']> {
  if (settings.kafka) return settings.kafka;
  throw new UsageError(
    `Cannot run ${command}: KAFKA_BROKERS is missing, want host:port of the event log's brokers, such as 127.0.0.1:9092`,
  );
}

/** The Redis settings of a command that can't do without. Throws UsageError naming REDIS_URL. */
export function needRedis(settings: Settings, command: string): NonNullable<Settings['redis']> {
  if (settings.redis) return settings.redis;
  throw new UsageError(
    `Cannot run ${command}: REDIS_URL is missing, want the Redis that holds the views, such as redis://127.0.0.1:6379`,
  );
}
