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

/** The outcome of a command that threw. `withStack`: prints where an unexpected error comes from. */
export function outcomeOf(error: unknown, withStack: boolean): Outcome {
  if (!(error instanceof Error)) return { code: 1, lines: [causeText(error)] };
  // Commander has printed what is wrong. Help that was asked for is not a failure.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, lines: [] };
  if (error instanceof SettingsError) return { code: 2, lines: error.lines };
  // The user makes missing topics, or corrects the settings that name them.
  if (error instanceof UsageError || error instanceof MissingTopicsError) return { code: 2, lines: [error.message] };
  if (error.name === 'AbortError') return { code: 1, lines: ['Stopped before the end'] };
  return { code: 1, lines: [withStack ? (error.stack ?? error.message) : causeText(error)] };
}
