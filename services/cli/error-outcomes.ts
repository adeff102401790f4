import { CommanderError } from 'commander';
import { causeText } from '../../infra/net/cause-chain.ts';
import { MissingTopicsError } from '../../projector/ports/event-log.ts';
import { SettingsError } from '../settings/settings.ts';
import { type ExitCode, UsageError } from './io.ts';

/** How a command ends, with the lines it prints to standard error. */
interface Outcome {
  code: ExitCode;
  lines: readonly string[];
}

/** A row of the table. Null: the error is of another class. */
const row =
  <E extends Error>(of: new (...args: never[]) => E, outcome: (error: E) => Outcome) =>
  (error: Error): Outcome | null =>
    error instanceof of ? outcome(error) : null;

/** What each class of error means to whoever ran the command. An error of no such class: the command failed. */
const byClass = [
  // Commander has printed what is wrong. Help that was asked for is not a failure.
  row(CommanderError, ({ exitCode }) => ({ code: exitCode === 0 ? 0 : 2, lines: [] })),
  row(UsageError, ({ message }) => ({ code: 2, lines: [message] })),
  row(SettingsError, ({ lines }) => ({ code: 2, lines })),
  // The user makes the topics, or corrects the settings that name them.
  row(MissingTopicsError, ({ message }) => ({ code: 2, lines: [message] })),
];

/** The outcome of a command that threw. `withStack`: prints where an unexpected error comes from. */
export function outcomeOf(error: unknown, withStack: boolean): Outcome {
  if (!(error instanceof Error)) return { code: 1, lines: [causeText(error)] };
  for (const outcome of byClass) {
    const found = outcome(error);
    if (found) return found;
  }
  if (error.name === 'AbortError') return { code: 1, lines: ['Stopped before the end'] };
  return { code: 1, lines: [withStack ? (error.stack ?? error.message) : causeText(error)] };
}
