import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { parseWriter, rejectedSchema, rejectedType } from '../../../schemas/avro/avro-types.ts';
import { compileDecoder } from '../../../schemas/avro/compile-decoder.ts';
import { reasonOf } from '../../../schemas/avro/undecodable.ts';
import type { Long } from '../../../schemas/events/instants.ts';
import { placeOf, RejectPlaces } from '../../reject-places.ts';
import { ArchiveError, archiveFileNames, archiveFilePath, archiveFolder } from './archive-files.ts';
import type { ArchiveManifest, ManifestFile } from './archive-manifest.ts';
import { ContainerFile, openContainer } from './avro-container.ts';
import { ContainerWriter } from './container-writer.ts';
import { makeFolder } from './make-folder.ts';

/** A record of the archive's `rejected` (schemas/events/Rejected.avsc) (docs/rules.md#archived-rejects). */
interface RejectedRecord {
  /** Without the prefix, as in the headers of the topic `rejected`. */
  topic: string;
  partition: number;
  offset: number;
  timestamp: Long;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  reason: string;
}

/** The files of bad records in their folder, in the order of their names. */
export const rejectedFiles = (folder: string): string[] =>
  (archiveFileNames(folder) ?? []).map((name) => join(folder, name));

/** All of an archive's bad records. Throws ArchiveError. */
export function* archiveRejected({ dir, prefix }: { dir: string; prefix: string }): Generator<Reject> {
  for (const path of rejectedFiles(archiveFolder(dir, prefix, 'rejected'))) yield* rejectsIn(path, prefix);
}

/** The bad records of one file, from any writer. Throws ArchiveError. */
export function* rejectsIn(path: string, prefix: string): Generator<Reject> {
  const opened = openContainer(path);
  if (!opened) return;
  const container = new ContainerFile(opened);
  try {
    const { schemaText } = container.header;
    const read = compileDecoder<RejectedRecord>(parseWriter(schemaText), rejectedType, { anyName: true });
    const cursor = new Cursor();
    for (const { count, data } of container.blocks()) {
      // Records are slices of it.
      cursor.set(Buffer.from(data), 0);
      for (let i = 0; i < count; i++) yield rejectOf(read(cursor), prefix);
    }
  } catch (error) {
    const what = error instanceof Error && error.message !== '' ? error.message : reasonOf(error);
    throw new ArchiveError(`Cannot read the rejected records in ${path}: ${what}; move the file out of the archive`, {
      cause: error,
    });
  } finally {
    container.close();
  }
}

function rejectOf(record: RejectedRecord, prefix: string): Reject {
  const { partition, offset, timestamp, key, value, headers, reason } = record;
  const topic = record.topic.startsWith(prefix) ? record.topic.slice(prefix.length) : record.topic;
  return {
    topic,
    partition,
    offset: Number(offset),
    timestampMs: timestamp,
    reason,
    raw: { key, value, headers },
  };
}

/** Adds bad records to an archive, each once (docs/rules.md#rejected-once), in a file of its own for each save. */
export class ArchiveRejects {
  readonly #folder: string;
  readonly #said: readonly ManifestFile[];
  readonly #unwanted: ReadonlySet<string>;
  readonly #published = new RejectPlaces();
  #count = 0;
  #writer: ContainerWriter | null = null;

  /** Reads what is there already. `said`: the files that the manifest lists, and the places that are left out. */
  constructor(
    place: { dir: string; prefix: string },
    said: Pick<ArchiveManifest, 'rejected' | 'forgotten_rejects'> = { rejected: [], forgotten_rejects: [] },
  ) {
    this.#folder = archiveFolder(place.dir, place.prefix, 'rejected');
    this.#said = said.rejected;
    this.#unwanted = new Set(said.forgotten_rejects);
    for (const reject of archiveRejected(place)) this.#added(reject);
  }

  /** Adds bad records durably. Returns the number of new ones. */
  add(rejects: readonly Reject[]): number {
    const fresh = this.#published.unknown(rejects).filter((reject) => !this.#unwanted.has(placeOf(reject)));
    if (fresh.length === 0) return 0;
    this.#writer ??= this.#create();
    for (const reject of fresh) this.#writer.append(encodeReject(reject));
    this.#writer.sync();
    for (const reject of fresh) this.#added(reject);
    return fresh.length;
  }

  /** The files, as the manifest lists them. */
  entries(): ManifestFile[] {
    return this.#writer ? [...this.#said, this.#writer.entry()] : [...this.#said];
  }

  close(): void {
    this.#writer?.close();
  }

  #added(reject: Reject): void {
    this.#published.add(reject);
    this.#count++;
  }

  /** A file that is named by the number of bad records before it. After archive forget the name may be taken. */
  #create(): ContainerWriter {
    makeFolder(this.#folder, 'rejected records');
    let number = this.#count;
    while (existsSync(archiveFilePath(this.#folder, 0, number))) number++;
    return createRejected(archiveFilePath(this.#folder, 0, number));
  }
}

/** A new file of bad records. */
export const createRejected = (path: string): ContainerWriter =>
  ContainerWriter.create(path, JSON.stringify(rejectedSchema), 'deflate');

export function encodeReject({ topic, partition, offset, timestampMs, reason, raw }: Reject): Buffer {
  const { key, value, headers } = raw;
  return rejectedType.toBuffer({ topic, partition, offset, timestamp: timestampMs, key, value, headers, reason });
}
