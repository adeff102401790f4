import { setImmediate } from 'node:timers/promises';
import type { Bounds, LogBounds } from '../../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { OpenArchiveFile } from '../format/archive-file.ts';
import { ArchiveError, type ArchiveFile, type ArchiveListing, missingFolders } from '../format/archive-files.ts';

/** Of each partition, the records with `low <= offset < end`. Only whole blocks count. Throws ArchiveError. */
export async function archiveBounds(
  { dir, prefix, listing }: { dir: string; prefix: string; listing: ArchiveListing },
  warn: (message: string) => void,
): Promise<LogBounds> {
  for (const { file, problem } of missingFolders(dir, prefix)) warn(`${file}: ${problem}`);
  const bounds = {} as LogBounds;
  for (const topic of topicNames) {
    bounds[topic] = [];
    for (const files of listing[topic]) bounds[topic].push(await partitionBounds(topic, files, warn));
  }
  return bounds;
}

export async function partitionBounds(
  topic: TopicName,
  files: readonly ArchiveFile[],
  warn: (message: string) => void,
): Promise<Bounds> {
  const low = files[0]?.firstOffset ?? 0;
  for (const file of files.toReversed()) {
    // Timers and signals get their turn, however long the archive is.
    await setImmediate();
    const open = OpenArchiveFile.open(topic, file);
    try {
      const end = open && endOf(open);
      if (file === files.at(-1) && (!open || open.restBytes() > 0))
        warn(
          `${file.path} ends within a block that begins at byte ${open?.pos ?? 0}: what is there of it does not count`,
        );
      if (end !== null) return { low, end };
    } finally {
      open?.close();
    }
  }
  return { low, end: low };
}

/** One more than the offset of a file's last record. Null if it has none. */
function endOf(open: OpenArchiveFile): number | null {
  const lastOffset = open.skipToEnd();
  if (lastOffset === null) return null;
  const { path, firstOffset } = open.file;
  // The name says where the partition begins. A lower end would be a log whose end can never be reached.
  if (lastOffset >= firstOffset) return lastOffset + 1;
  throw new ArchiveError(
    `Cannot read ${path}: it holds offset ${lastOffset}, lower than the first offset of its name; rename it after its first record`,
  );
}
