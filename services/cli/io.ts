import type { Logger } from 'pino';
import { type Settings, SettingsError } from '../settings/settings.ts';

/** A command's input and output. */
export interface Io {
  /** Prints a line to standard output: the command's result. An empty `end`: the line goes on. */
  out(line: string, end?: '\n' | ''): void;
  /**
   * Resolves once the program that reads the output has taken what was printed: a command that prints much waits for it, or
   * all would be in memory. Undefined if there is nothing to wait for. Rejects if the signal aborts, and with OutputClosedError.
   */
  taken(): Promise<unknown> | undefined;
  /** Standard input. */
  input(): NodeJS.ReadableStream & { isTTY?: boolean };
  /** Prints a line to standard error: what it does, or why it cannot. */
  err(line: string): void;
  /** If so, progress is drawn there. */
  errIsTerminal: boolean;
  /** Aborts on Ctrl-C or SIGTERM: finish the present step, and end. */
  signal: AbortSignal;
  /** The process's logger. */
  log: Logger;
}

/** A program's, before it is known which command it runs, with which settings. */
export type ProgramIo = Omit<Io, 'log'>;

/** 0: done. 1: it found a problem, or failed half-way. 2: it cannot be run as it was called. 3: not all could be compared; the record waited for is bad. */
export type ExitCode = 0 | 1 | 2 | 3;

/** The command cannot be run as it was called. Printed in one line, exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** The program that reads the output has ended, as `head` does. Whoever only prints need not go on: it is no failure. */
export class OutputClosedError extends Error {
  override name = 'OutputClosedError';
}

/** Prints what a command has to say: with --json an object on a line, else lines. */
export function tell(io: Io, json: boolean | undefined, result: object, lines: readonly string[]): void {
  for (const line of json ? [JSON.stringify(result)] : lines) io.out(line);
}

/** The Kafka settings, for a command that needs them. Throws UsageError that names KAFKA_BROKERS. */
export function needKafka(settings: Settings, command: string): NonNullable<Settings['kafka']> {
  if (settings.kafka) return settings.kafka;
  throw new UsageError(
    `Cannot run ${command}: KAFKA_BROKERS is missing, want host:port of the event log's brokers, such as 127.0.0.1:9092`,
  );
}

/** Throws SettingsError if the Redis of the views is missing, or an event log. It has a line for each. */
export function needStoreAndLog({ redis, kafka, archiveDir }: Settings, command: string, fix: string): void {
  const lines: string[] = [];
  if (!redis) lines.push(redisMissing(command));
  if (!kafka && !archiveDir) lines.push(`Cannot run ${command}: KAFKA_BROKERS is missing, and ARCHIVE_DIR too; ${fix}`);
  if (lines.length > 0) throw new SettingsError(lines);
}

/** The Redis settings, for a command that needs them. Throws UsageError that names REDIS_URL. */
export function needRedis(settings: Settings, command: string): NonNullable<Settings['redis']> {
  if (settings.redis) return settings.redis;
  throw new UsageError(redisMissing(command));
}

const redisMissing = (command: string): string =>
  `Cannot run ${command}: REDIS_URL is missing, want the Redis that holds the views, such as redis://127.0.0.1:6379`;
