import { UsageError } from '../command/io.ts';

/** The progress of a copy, in offsets. Some offsets may have no record. */
export interface CopyProgress {
  done: number;
  total: number;
}

export interface CopyResult {
  records: number;
  /** Bad records that came with them, and were not there before. */
  rejected: number;
}

export interface CopyOptions {
  signal: AbortSignal;
  onProgress?: (progress: CopyProgress) => void;
}

/** A copy that would mix with existing records, or lose some. The message names the fix. */
export class ArchiveCopyError extends UsageError {
  override name = 'ArchiveCopyError';
}
