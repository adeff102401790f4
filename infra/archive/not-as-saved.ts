import { ArchiveError } from './archive-files.ts';
import type { ArchiveProblem } from './partition-inspection.ts';

/**
 * The error for an archive that differs from its manifest, or cannot be read. `fix`: what the command did, and what to
 * do.
 */
export function notAsSaved(
  dir: string,
  problems: readonly ArchiveProblem[],
  fix: string,
  verb = 'go on with',
): ArchiveError {
  const [{ file, problem }] = problems as [ArchiveProblem];
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more: ride-calendar archive check ${dir})` : '';
  return new ArchiveError(`Cannot ${verb} the archive ${dir}: ${file}: ${problem}${more}. ${fix}`);
}
