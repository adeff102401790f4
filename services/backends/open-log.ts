import type { SimulatedArchive } from '../../infra/archive/format/archive-manifest.ts';
import type { EventLog, RejectSink } from '../../projector/ports/event-log.ts';
import type { Partitioners } from '../../schemas/events/partitioner.ts';

/** An event log that a projector can fold, with where it is and whose it is. */
export interface OpenLog {
  eventLog: EventLog;
  /** Null: an archive keeps bad records where they are. */
  rejects: RejectSink | null;
  /** How its producers map keys to partitions. */
  partitioners: Partitioners;
  /** Where the log is, in words. */
  where: string;
  /** Developer key and rider of a made-up log: the sample, or what `simulate` made. Null for any other. */
  madeUp: SimulatedArchive | null;
}
