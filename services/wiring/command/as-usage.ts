import { MissingTopicsError } from '../../../projector/ports/event-log.ts';
import { ArchiveCopyError } from '../archive/archive-copy.ts';
import { UsageError } from './io.ts';

/** Turns errors that the user can fix by calling the command in another way into UsageError (exit code 2). */
export async function asUsage<T>(attempt: Promise<T>): Promise<T> {
  try {
    return await attempt;
  } catch (error) {
    const isUsage = error instanceof ArchiveCopyError || error instanceof MissingTopicsError;
    throw isUsage ? new UsageError(error.message, { cause: error }) : error;
  }
}
