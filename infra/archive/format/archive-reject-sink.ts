import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { parseWriter, rejectedSchema, rejectedType } from '../../../schemas/avro/avro-types.ts';
import { compileDecoder } from '../../../schemas/avro/compile-decoder.ts';
import { reasonOf } from '../../../schemas/avro/undecodable.ts';
import { defaultTopicPrefix, type TopicName } from '../../../schemas/events/records.ts';
import { placeOf, RejectPlaces } from '../../reject-places.ts';
import { ArchiveError, archiveFilePath, archiveFolder } from './archive-files.ts';
import type { ManifestFile } from './archive-manifest.ts';
import { ContainerFile, containerSummary, openContainer } from './avro-container.ts';
import { ContainerWriter } from './container-writer.ts';
import { makeFolder } from './make-folder.ts';

/** A record of the archive's `rejected` (schemas/events/Rejected.avsc) (docs/rules.md#archived-rejects). */
interface RejectedRecord {
  /** Without the prefix, as in the headers of the topic `rejected`. */
  topic: string;
  partition: number;
  offset: number;
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer>;
  reason: string;
}

/**
 * The container files in an archive's folder of bad records, in the order of their names. Empty if there is no folder.
 */
export function rejectedFiles(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.avro') && !name.startsWith('.'));
    return names.sort().map((name) => join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

interface RejectedPlace {
  /** The archive. Bad records are in `<dir>/<prefix>rejected`. */
  dir: string;
  prefix?: string;
}

const rejectedFolder = ({ dir, prefix = defaultTopicPrefix }: RejectedPlace): string =>
  archiveFolder(dir, prefix, 'rejected');

/** All of an archive's bad records. Throws ArchiveError. */
export function* archiveRejected(place: RejectedPlace): Generator<Reject> {
  const { prefix = defaultTopicPrefix } = place;
  for (const path of rejectedFiles(rejectedFolder(place))) yield* readRejectedFile(path, prefix);
}

/** The bad records of one file, from any writer. Throws ArchiveError. */
export function* readRejectedFile(path: string, prefix: string): Generator<Reject> {
  try {
    for (const block of rejectedBlocks(path, prefix)) for (const { reject } of block) yield reject;
  } catch (error) {
    const what = error instanceof Error && error.message !== '' ? error.message : reasonOf(error);
    throw new ArchiveError(`Cannot read the bad records in ${path}: ${what}; move the file out of the archive`, {
      cause: error,
    });
  }
}

/** The bad records of a file's blocks, each with its bytes. */
export function* rejectedBlocks(path: string, prefix: string): Generator<{ reject: Reject; bytes: Buffer }[]> {
  const opened = openContainer(path);
  if (!opened) return;
  const container = new ContainerFile(opened);
  try {
    const { schemaText } = container.header;
    const read = compileDecoder<RejectedRecord>(parseWriter(schemaText), rejectedType, { anyName: true });
    const cursor = new Cursor();
    for (let block = container.nextBlock(); block; block = container.nextBlock()) {
      const { count } = block;
      // Records are slices of it.
      const data = Buffer.from(block.data);
      cursor.set(data, 0);
      yield Array.from({ length: count }, () => {
        const start = cursor.pos;
        const reject = rejectOf(read(cursor), prefix);
        return { reject, bytes: data.subarray(start, cursor.pos) };
      });
    }
  } finally {
    container.close();
  }
}

function rejectOf(record: RejectedRecord, prefix: string): Reject {
  const { partition, offset, timestamp, key, value, headers, reason } = record;
  const topic = record.topic.startsWith(prefix) ? record.topic.slice(prefix.length) : record.topic;
  return {
    topic: topic as TopicName,
    partition,
    offset: Number(offset),
    timestampMs: Number(timestamp),
    reason,
    raw: { key, value, headers },
  };
}

/** The manifest's entry of a file of bad records, as it is now. Null if it ends within its header. */
export function rejectedEntry(path: string): ManifestFile | null {
  const found = containerSummary(path);
  if (!found) return null;
  const { records, bytes } = found;
  return { name: basename(path), records, bytes, sha256: hash('sha256', readFileSync(path).subarray(0, bytes)) };
}

const blockBytes = 1 << 20;

/**
 * Adds bad records to an archive, durably before `publish` resolves. First reads what is there already, from any
 * writer, so that a restart publishes nothing twice (docs/rules.md#rejected-once). `forgotten`: places of bad records that
 * are left out (docs/rules.md#archive-forget).
 */
export function archiveRejectSink(place: RejectedPlace, forgotten: readonly string[] = []): RejectSink {
  const published = new RejectPlaces();
  const unwanted = new Set(forgotten);
  /** The number of bad records there. Null until they are read. */
  let known: number | null = null;
  let writer: ContainerWriter | null = null;

  function readKnown(): number {
    let count = 0;
    for (const reject of archiveRejected(place)) {
      published.add(reject);
      count++;
    }
    return count;
  }

  return {
    async publish(rejects) {
      if (rejects.length === 0) return 0;
      known ??= readKnown();
      const fresh = published.unknown(rejects).filter((reject) => !unwanted.has(placeOf(reject)));
      if (fresh.length === 0) return 0;
      writer ??= openIn(rejectedFolder(place), known);
      for (const block of blocksOf(fresh.map(encode))) writer.appendBlock(block.length, Buffer.concat(block));
      writer.sync();
      // Only after the write: after a full disk they must be published again.
      for (const reject of fresh) published.add(reject);
      return fresh.length;
    },
    async close() {
      writer?.close();
      writer = null;
    },
  };
}

/** Readers bound the size of a block. One record may be larger than the others together. */
function* blocksOf(records: readonly Buffer[]): Generator<Buffer[]> {
  let block: Buffer[] = [];
  let bytes = 0;
  for (const record of records) {
    block.push(record);
    bytes += record.length;
    if (bytes < blockBytes) continue;
    yield block;
    block = [];
    bytes = 0;
  }
  if (block.length > 0) yield block;
}

function encode({ topic, partition, offset, timestampMs, reason, raw }: Reject): Buffer {
  const { key, value, headers } = raw;
  return rejectedType.toBuffer({ topic, partition, offset, timestamp: timestampMs, key, value, headers, reason });
}

/**
 * Continues the last file if its format is ours, else starts one. `known`: the number of bad records there. A new file
 * is named by it.
 */
function openIn(folder: string, known: number): ContainerWriter {
  let count = known;
  makeFolder(folder, 'bad records');
  const schemaText = JSON.stringify(rejectedSchema);
  const last = rejectedFiles(folder).at(-1);
  if (last !== undefined) {
    const found = containerSummary(last);
    if (found?.header.schemaText === schemaText) return ContainerWriter.resume(last, found);
    // A crash between creating the file and writing its header.
    if (!found) rmSync(last);
  }
  let path = archiveFilePath(folder, 0, count);
  while (existsSync(path)) path = archiveFilePath(folder, 0, ++count);
  return ContainerWriter.create(path, schemaText, 'deflate');
}
