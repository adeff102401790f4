import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { clocks, type RecordClock, sourcesOf } from '../../infra/archive/log/partition-cursor.ts';
import { countText } from '../../projector/running/log.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { instantOf } from '../cli/instant-texts.ts';
import { type Io, UsageError } from '../cli/io.ts';
import { withProgress } from '../cli/progress.ts';
import { type FoldedPast, foldPast } from './log/past-fold.ts';
import type { PastLog } from './past-log.ts';

/** Which records count: those with a time at or before an instant, or exactly those in a file of offsets. */
export interface PastPoint {
  atMs: number;
  by: RecordClock;
  /** For each partition, the offset where the records end. Null: all records. */
  offsets: Record<TopicName, number[]> | null;
}

export interface PointOptions {
  asOf?: string;
  by?: RecordClock;
  offsets?: string;
}

/** Parses which records a command must take. Throws UsageError. */
export function pointOf({ asOf, by, offsets }: PointOptions): PastPoint {
  if ((asOf === undefined) === (offsets === undefined))
    throw new UsageError('Cannot run replay: want either --as-of TIME or --offsets FILE');
  if (asOf !== undefined) return { atMs: instantOf('replay', '--as-of', asOf), by: by ?? 'timestamp', offsets: null };
  if (by !== undefined) throw new UsageError(`Cannot run replay: --offsets says by what it goes, leave --by out`);
  return readOffsets(offsets!);
}

const offsetsSchema = z.object({
  as_of: z.iso.datetime({ offset: true }),
  by: z.enum(clocks),
  offsets: z.record(z.enum(topicNames as [TopicName, ...TopicName[]]), z.array(z.number().int().min(0))),
});

function readOffsets(path: string): PastPoint {
  const refuse = (what: string, cause?: unknown): UsageError =>
    new UsageError(`Cannot run replay: --offsets ${path} ${what}, want a file that replay --as-of TIME --json wrote`, {
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refuse(code === undefined ? 'is not JSON' : `can't be read (${code})`, error);
  }
  const { success, data, error } = offsetsSchema.safeParse(value);
  if (!success) throw refuse(`is no file of offsets (${error.issues[0]!.path.join('.') || 'the whole'})`, error);
  return { atMs: Date.parse(data.as_of), by: data.by, offsets: data.offsets };
}

/** The log up to the offsets of a point. Throws UsageError if it does not have them. */
function boundsAt(log: PastLog, { offsets }: PastPoint): PastLog['bounds'] {
  if (offsets === null) return log.bounds;
  const cut = {} as PastLog['bounds'];
  for (const topic of topicNames) {
    const [has, wants] = [log.bounds[topic].length, offsets[topic].length];
    if (has !== wants)
      throw new UsageError(
        `Cannot run replay: --offsets is of ${countText(wants, 'partition')} of ${topic}, and ${log.where} has ${has}`,
      );
    cut[topic] = log.bounds[topic].map(({ low, end }, partition) => {
      const wanted = offsets[topic][partition]!;
      if (wanted <= end) return { low, end: Math.max(low, wanted) };
      throw new UsageError(
        `Cannot run replay: --offsets wants ${topic}/${partition} up to offset ${wanted - 1}, and ${log.where} has it up to ${end - 1}`,
      );
    });
  }
  return cut;
}

/** The facts at a point of the past, and how they were found. */
export async function foldPoint(log: PastLog, point: PastPoint, io: Io): Promise<FoldedPast> {
  const { atMs, by } = point;
  const sources = sourcesOf({ listing: log.listing, bounds: boundsAt(log, point) }, by);
  return withProgress(io, 'Records read', null, (progress) =>
    foldPast(sources, { atMs, signal: io.signal, onProgress: progress.update }),
  );
}
