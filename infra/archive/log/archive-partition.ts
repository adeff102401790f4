import type { Bounds, EncodedRecord } from '../../../projector/ports/event-log.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { OpenArchiveFile } from '../format/archive-file.ts';
import { ArchiveError, type ArchiveFile } from '../format/archive-files.ts';

/** At most this many records are handed over at once, whatever the size of the blocks. */
const recordsMax = 5_000;

/**
 * The records of one partition with `low <= offset < end`, in the order of their offsets, some at a time. Throws
 * ArchiveError where the files are cut or repeat each other, or no longer hold the records.
 */
export async function* recordsWithin(
  { topic, partition }: { topic: TopicName; partition: number },
  files: readonly ArchiveFile[],
  { low, end }: Bounds,
): AsyncGenerator<EncodedRecord[], void> {
  let next = low;
  // The first file may begin before the offset to read.
  const first = Math.max(
    0,
    files.findLastIndex(({ firstOffset }) => firstOffset <= low),
  );
  for (let i = first; i < files.length && next < end; i++) {
    const file = files[i]!;
    const following = files[i + 1];
    const open = OpenArchiveFile.open(topic, file);
    if (!open && following) throw cutOff(file, 0, 'its header');
    if (!open) break;
    try {
      while (next < end) {
        const block = await open.nextRecords();
        if (!block) break;
        const from = next;
        const records = block.filter(({ offset }) => offset >= from && offset < end);
        for (let at = 0; at < records.length; at += recordsMax) yield records.slice(at, at + recordsMax);
        next = Math.max(next, (block.at(-1)?.offset ?? -1) + 1);
      }
      if (next < end && following && open.restBytes() !== 0) throw cutOff(file, open.pos, 'a block');
    } finally {
      open.close();
    }
    if (next >= end || !following || following.firstOffset >= next) continue;
    throw new ArchiveError(
      `Cannot read ${following.path}: it begins at offset ${following.firstOffset}, but ${file.path} goes on to ${next - 1}; remove the one that repeats the other`,
    );
  }
  if (next >= end) return;
  throw new ArchiveError(
    `Cannot read ${topic}/${partition} of the archive on to offset ${end - 1}: its files have changed meanwhile; call the command again`,
  );
}

const cutOff = ({ path }: ArchiveFile, pos: number, what: string): ArchiveError =>
  new ArchiveError(
    `Cannot read ${path} at byte ${pos}: it ends within ${what}, and another file follows; copy it anew, or cut it off there if the rest is lost`,
  );
