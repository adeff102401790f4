import type { EncodedRecord } from '../../projector/ports/event-log.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { type ArchiveDecoder, archiveDecoder } from './archive-decoder.ts';
import { ArchiveError, type ArchiveFile } from './archive-files.ts';
import { type ContainerBlock, ContainerFile } from './container-file.ts';

/** An open archive file: its blocks as records of the topic. Errors are ArchiveErrors with file and byte. */
export class OpenArchiveFile {
  readonly file: ArchiveFile;
  readonly #container: ContainerFile;
  readonly #decoder: ArchiveDecoder;

  private constructor(file: ArchiveFile, container: ContainerFile, decoder: ArchiveDecoder) {
    this.file = file;
    this.#container = container;
    this.#decoder = decoder;
  }

  /** Null if the file ends within its header, as a file does that is being created. */
  static async open(topic: TopicName, file: ArchiveFile): Promise<OpenArchiveFile | null> {
    const container = await translated(() => ContainerFile.open(file.path));
    if (!container) return null;
    try {
      return new OpenArchiveFile(file, container, archiveDecoder(topic, container.header.schemaText));
    } catch (error) {
      await container.close();
      throw new ArchiveError(`Cannot read ${file.path}: ${(error as Error).message}`, { cause: error });
    }
  }

  get pos(): number {
    return this.#container.pos;
  }

  set pos(pos: number) {
    this.#container.pos = pos;
  }

  /** The records of the next block, in the order of their offsets. Null if there is no whole block yet. */
  async nextRecords(): Promise<EncodedRecord[] | null> {
    const block = await translated(() => this.#container.nextBlock());
    if (!block) return null;
    const records = this.#decode(block, () => this.#decoder.records(block.data, block.count));
    let last = this.file.firstOffset - 1;
    for (const { partition, offset } of records) {
      if (partition !== this.file.partition) {
        throw this.#wrong(block, `partition ${partition} in a file of partition ${this.file.partition}`);
      }
      if (offset <= last) throw this.#wrong(block, `offset ${offset} where more than ${last} is due`);
      last = offset;
    }
    return records;
  }

  /** Skips all whole blocks from `pos` on. Returns the offset of the last record, or null if there is none. */
  async skipToEnd(): Promise<number | null> {
    let lastAt = -1;
    for (;;) {
      const block = await translated(() => this.#container.skipBlock());
      if (!block) break;
      if (block.count > 0) lastAt = block.at;
    }
    if (lastAt < 0) return null;
    const end = this.#container.pos;
    this.#container.pos = lastAt;
    const block = (await translated(() => this.#container.nextBlock()))!;
    this.#container.pos = end;
    return this.#decode(block, () => this.#decoder.lastOffset(block.data, block.count));
  }

  restBytes(): Promise<number> {
    return this.#container.restBytes();
  }

  close(): Promise<void> {
    return this.#container.close();
  }

  #decode<T>(block: ContainerBlock, decode: () => T): T {
    try {
      return decode();
    } catch (error) {
      throw this.#wrong(block, (error as Error).message);
    }
  }

  #wrong(block: ContainerBlock, what: string): ArchiveError {
    return new ArchiveError(`Cannot read ${this.file.path} at byte ${block.at}: ${what}`);
  }
}

async function translated<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw new ArchiveError((error as Error).message, { cause: error });
  }
}
