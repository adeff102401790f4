import type { Bounds, LogBounds } from '../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { OpenArchiveFile } from './archive-file.ts';
import { ArchiveError, type ArchiveFile, type ArchiveListing } from './archive-files.ts';

/** How far a file has been scanned, and its last offset up to there. */
interface Seen {
  pos: number;
  lastOffset: number | null;
}

/**
 * Finds the ends of partitions, each time from where it last looked. Checks a file's schema when it first sees the
 * file.
 */
export class ArchiveBounds {
  readonly #seen = new Map<string, Seen>();
  readonly #warned = new Set<string>();
  readonly #warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** Of each partition, the records with `low <= offset < end`. Only whole blocks count. Throws ArchiveError. */
  async of(listing: ArchiveListing): Promise<LogBounds> {
    const bounds = {} as LogBounds;
    for (const topic of topicNames) {
      bounds[topic] = [];
      for (const files of listing[topic]) bounds[topic].push(await this.#ofPartition(topic, files));
    }
    return bounds;
  }

  async #ofPartition(topic: TopicName, files: readonly ArchiveFile[]): Promise<Bounds> {
    for (const file of files) if (!this.#seen.has(file.path)) await this.#firstLook(topic, file);
    const low = files[0]?.firstOffset ?? 0;
    for (const file of files.toReversed()) {
      const lastOffset = await this.#lastOffset(topic, file, file === files.at(-1));
      if (lastOffset !== null) return { low, end: lastOffset + 1 };
    }
    return { low, end: low };
  }

  async #firstLook(topic: TopicName, file: ArchiveFile): Promise<void> {
    const open = await OpenArchiveFile.open(topic, file);
    if (open) this.#seen.set(file.path, { pos: open.pos, lastOffset: null });
    await open?.close();
  }

  async #lastOffset(topic: TopicName, file: ArchiveFile, isLast: boolean): Promise<number | null> {
    const open = await OpenArchiveFile.open(topic, file);
    if (!open) {
      if (isLast) this.#warnOfRest(file.path, 0);
      return null;
    }
    try {
      const seen = this.#seen.get(file.path) ?? { pos: open.pos, lastOffset: null };
      open.pos = seen.pos;
      const lastOffset = (await open.skipToEnd()) ?? seen.lastOffset;
      // The name says where the partition begins. A lower end would be a log whose end can never be reached.
      if (lastOffset !== null && lastOffset < file.firstOffset) {
        throw new ArchiveError(
          `Cannot read ${file.path}: it holds offset ${lastOffset}, lower than the first offset of its name; rename it after its first record`,
        );
      }
      this.#seen.set(file.path, { pos: open.pos, lastOffset });
      if (isLast && (await open.restBytes()) > 0) this.#warnOfRest(file.path, open.pos);
      return lastOffset;
    } finally {
      await open.close();
    }
  }

  #warnOfRest(path: string, pos: number): void {
    if (this.#warned.has(path)) return;
    this.#warned.add(path);
    this.#warn(`${path} ends within a block that begins at byte ${pos}: what is there of it does not count yet`);
  }
}
