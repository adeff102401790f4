import { ArchiveError } from './archive-files.ts';
import type { ArchiveProblem } from './partition-inspection.ts';

/** An archive that is not as its manifest says, or can't be read. `fix`: what became of the command, and what to do. */
export function notAsSaved(dir: string, problems: readonly ArchiveProblem[], fix: string): ArchiveError {
  const [{ file, problem }] = problems as [ArchiveProblem];
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more: ride-calendar archive check ${dir})` : '';
  return new ArchiveError(`Cannot go on with the archive ${dir}: ${file}: ${problem}${more}. ${fix}`);
}
