import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Settings } from '../settings/settings.ts';
import type { ExitCode, Io } from './io.ts';

/** What a command does. Its arguments are among the options, by their names. Each command has --json. */
export type Run<Options = object> = (
  options: Options & { json?: boolean },
  settings: Settings,
  io: Io,
) => Promise<ExitCode>;

/** The commands of a program, or of one of its groups. */
export interface Commands {
  /** Adds a command with --json and its examples. `load` gives what it does. `three`: what its exit code 3 means. */
  add<Options extends object>(
    usage: string,
    description: string,
    examples: readonly string[],
    load: () => Promise<Run<Options>>,
    three?: string,
  ): Command;
  /** Adds a command that only has commands of its own. */
  group(name: string, description: string): Commands;
}

/** `--archive` of a command that reads a log (serve/open-event-log.ts). */
export const archiveOption = [
  '--archive <dir>',
  'the archive to read; without it KAFKA_BROKERS, ARCHIVE_DIR or the sample',
] as const;

/** An option that takes a whole number within bounds, both included. */
export const wholeOption = (flags: string, description: string, min: number, max: number): Option =>
  new Option(flags, description).argParser((text) => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Want a whole number from ${min} to ${max}.`);
  });
