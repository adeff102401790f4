import { setImmediate } from 'node:timers/promises';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { type ArchiveDecoder, archiveDecoder } from './archive-decoder.ts';
import { ArchiveError, type ArchiveFile } from './archive-files.ts';
import { ContainerFile, type OpenedContainer, openContainer } from './avro-container.ts';

/** An open archive file, which gives each block's records. Throws ArchiveError with file and byte. */
export class OpenArchiveFile extends ContainerFile {
  readonly file: ArchiveFile;
  readonly decoder: ArchiveDecoder;

  private constructor(opened: OpenedContainer, topic: TopicName, file: ArchiveFile) {
    super(opened);
    this.file = file;
    try {
      this.decoder = archiveDecoder(topic, this.header.schemaText);
    } catch (error) {
      this.close();
      throw new ArchiveError(`Cannot read ${file.path}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Null if the file ends within its header: another process is creating it. */
  static open(topic: TopicName, file: ArchiveFile): OpenArchiveFile | null {
    const opened = openContainer(file.path);
    return opened && new OpenArchiveFile(opened, topic, file);
  }

  /** The records of the next block, in the order of their offsets. Null if there is no other whole block. */
  async nextRecords(): Promise<EncodedRecord[] | null> {
    // Timers and signals get their turn, however long the archive is.
    await setImmediate();
    const block = this.nextBlock();
    if (!block) return null;
    const { at, count, data } = block;
    const records = this.located(at, () => this.decoder.records(data, count));
    let last = this.file.firstOffset - 1;
    for (const { partition, offset } of records) {
      if (partition !== this.file.partition)
        throw this.wrong(at, `partition ${partition} in a file of partition ${this.file.partition}`);
      if (offset <= last) throw this.wrong(at, `offset ${offset} where more than ${last} is due`);
      last = offset;
    }
    return records;
  }

  /** Skips all whole blocks from `pos` on. Returns the offset of the last record, or null if there is none. */
  skipToEnd(): number | null {
    let lastAt = -1;
    for (let block = this.skipBlock(); block; block = this.skipBlock()) if (block.count > 0) lastAt = block.at;
    if (lastAt < 0) return null;
    const end = this.pos;
    this.pos = lastAt;
    const { data, count } = this.nextBlock()!;
    this.pos = end;
    return this.located(lastAt, () => this.decoder.records(data, count).at(-1)!.offset);
  }
}
