import { stat } from 'node:fs/promises';
import { type Bounds, type EncodedRecord, LateRecordsError, type LogBatch } from '../../projector/ports/event-log.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { OpenArchiveFile } from './archive-file.ts';
import { ArchiveError, type ArchiveFile } from './archive-files.ts';

/** A batch has at most this many records, whatever the size of the blocks. */
const batchRecordsMax = 5_000;

interface PartitionReaderOptions {
  topic: TopicName;
  partition: number;
  /** The first offset to read. */
  from: number;
  /**
   * How long a file may end within a block. After that, the last file is warned of, and any other file is an error. 5 s
   * by default.
   */
  warnAfterMs?: number | undefined;
  warn: (message: string) => void;
}

/** Reads one partition, file after file. At its end it stays until there is more. */
export class ArchivePartitionReader {
  readonly #options: PartitionReaderOptions;
  readonly #warnAfterMs: number;
  #files: readonly ArchiveFile[] = [];
  readonly #known = new Set<string>();
  /** The file being read, and whether it could be opened yet. */
  #file: ArchiveFile | null = null;
  #open: OpenArchiveFile | null = null;
  /** One more than the last offset read. */
  #readTo: number;
  /** Records that were read and not yet delivered. */
  #pending: EncodedRecord[] = [];
  #cutOff: { path: string; bytes: number; sinceMs: number; said: boolean } | null = null;

  constructor(options: PartitionReaderOptions) {
    this.#options = options;
    this.#warnAfterMs = options.warnAfterMs ?? 5_000;
    this.#readTo = options.from;
  }

  /** The partition's files as just listed. Throws LateRecordsError for a new file before the one that is being read. */
  set files(files: readonly ArchiveFile[]) {
    const current = this.#file;
    const late =
      current && files.find(({ path, firstOffset }) => firstOffset < current.firstOffset && !this.#known.has(path));
    if (late) throw new LateRecordsError(`${late.path} came after ${current.path}, which has been read`);
    for (const { path } of files) this.#known.add(path);
    this.#files = files;
  }

  /** The next records. Null at the end of what there is. */
  async next(): Promise<LogBatch | null> {
    while (this.#pending.length === 0) {
      if (!(await this.#needOpenFile())) return null;
      const records = await this.#open!.nextRecords();
      if (records) this.#take(records);
      else if (!(await this.#moveOn(this.#open!))) return null;
    }
    const { topic, partition } = this.#options;
    const records = this.#pending.splice(0, batchRecordsMax);
    return { topic, partition, records, nextOffset: records.at(-1)!.offset + 1 };
  }

  async close(): Promise<void> {
    await this.#open?.close();
    this.#open = null;
  }

  async #needOpenFile(): Promise<boolean> {
    if (this.#open) return true;
    this.#file ??= this.#files.findLast((file) => file.firstOffset <= this.#readTo) ?? this.#files[0] ?? null;
    if (!this.#file) return false;
    this.#open = await OpenArchiveFile.open(this.#options.topic, this.#file);
    if (this.#open) return true;
    if (this.#following(this.#file)) await this.#refuseCutOff(this.#file.path, 0, 'its header');
    else this.#warnOfRest(this.#file.path, 0, 1);
    return false;
  }

  #take(records: EncodedRecord[]): void {
    const last = records.at(-1);
    // The first file may begin before the offset to read.
    if (!last || last.offset < this.#readTo) return;
    const readTo = this.#readTo;
    this.#pending = records[0]!.offset >= readTo ? records : records.filter(({ offset }) => offset >= readTo);
    this.#readTo = last.offset + 1;
  }

  /** Goes on to the next file once this one has no more. False if there is none yet. */
  async #moveOn(open: OpenArchiveFile): Promise<boolean> {
    const restBytes = await open.restBytes();
    const following = this.#following(open.file);
    if (!following) {
      this.#warnOfRest(open.file.path, open.pos, restBytes);
      return false;
    }
    // Less than 0: the file was truncated, as happens when it is copied anew.
    if (restBytes !== 0) {
      await this.#refuseCutOff(open.file.path, open.pos, 'a block');
      return false;
    }
    if (following.firstOffset < this.#readTo) {
      throw new ArchiveError(
        `Cannot read ${following.path}: it begins at offset ${following.firstOffset}, but ${open.file.path} goes on to ${this.#readTo - 1}; remove the one that repeats the other`,
      );
    }
    await this.close();
    this.#file = following;
    return true;
  }

  /** Throws if a file ends early although another follows. A file that is being copied is waited for. */
  async #refuseCutOff(path: string, pos: number, what: string): Promise<void> {
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs < this.#warnAfterMs) return;
    throw new ArchiveError(
      `Cannot read ${path} at byte ${pos}: it ends within ${what}, and another file follows; copy it anew, or cut it off there if the rest is lost`,
    );
  }

  #following(file: ArchiveFile): ArchiveFile | undefined {
    return this.#files.find(({ firstOffset }) => firstOffset > file.firstOffset);
  }

  /** Warns once if the last file stays cut within a block: a writer may be at work, or have crashed. */
  #warnOfRest(path: string, pos: number, bytes: number): void {
    if (bytes === 0) {
      this.#cutOff = null;
      return;
    }
    if (this.#cutOff?.path !== path || this.#cutOff.bytes !== bytes) {
      this.#cutOff = { path, bytes, sinceMs: Date.now(), said: false };
    }
    if (this.#cutOff.said || Date.now() - this.#cutOff.sinceMs < this.#warnAfterMs) return;
    this.#cutOff.said = true;
    this.#options.warn(`${path} ends within a block that begins at byte ${pos}: waiting for the rest of it`);
  }
}

/**
 * The records of one partition with `low <= offset < end`, block by block. Throws ArchiveError if the files no longer
 * hold them.
 */
export async function* recordsWithin(
  place: { topic: TopicName; partition: number },
  files: readonly ArchiveFile[],
  { low, end }: Bounds,
  warn: (message: string) => void,
): AsyncGenerator<EncodedRecord[], void> {
  const reader = new ArchivePartitionReader({ ...place, from: low, warn });
  reader.files = files;
  try {
    for (let next = low; next < end; ) {
      const batch = await reader.next();
      if (!batch) {
        throw new ArchiveError(
          `Cannot read ${place.topic}/${place.partition} of the archive on to offset ${end - 1}: its files have changed meanwhile; call the command again`,
        );
      }
      next = batch.nextOffset;
      yield next <= end ? batch.records : batch.records.filter(({ offset }) => offset < end);
    }
  } finally {
    await reader.close();
  }
}
