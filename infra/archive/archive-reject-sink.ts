import { existsSync, rmSync } from 'node:fs';
import type { Reject, RejectSink } from '../../projector/ports/event-log.ts';
import { rejectedSchema, rejectedType } from '../../schemas/avro/avro-types.ts';
import { RejectPlaces } from '../reject-places.ts';
import { archiveFilePath } from './archive-files.ts';
import { archiveRejected, type RejectedPlace, rejectedFiles, rejectedFolders } from './archive-rejected.ts';
import { readContainer } from './avro-container.ts';
import { ContainerWriter } from './container-writer.ts';
import { makeFolder } from './make-folder.ts';

export interface ArchiveRejectSinkOptions extends RejectedPlace {
  log?: { warn(message: string): void };
}

/** The archive is read-only. */
const unwritable = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Sets bad records aside in the archive, durably before `publish` resolves. First reads what is there already, from any
 * writer, so that a restart publishes nothing twice.
 */
export function archiveRejectSink(options: ArchiveRejectSinkOptions): RejectSink {
  const published = new RejectPlaces();
  /** The number of bad records there. Null until they are read. */
  let known: number | null = null;
  let writer: ContainerWriter | null = null;

  function readKnown(): number {
    let count = 0;
    for (const reject of archiveRejected(options)) {
      published.add(reject);
      count++;
    }
    return count;
  }

  return {
    async publish(rejects) {
      if (rejects.length === 0) return 0;
      known ??= readKnown();
      const fresh = published.unknown(rejects);
      if (fresh.length === 0) return 0;
      writer ??= openWriter(rejectedFolders(options), known, options.log);
      writer.appendBlock(fresh.length, Buffer.concat(fresh.map(encode)));
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

function encode({ topic, partition, offset, timestampMs, reason, raw }: Reject): Buffer {
  const { key, value, headers } = raw;
  return rejectedType.toBuffer({ topic, partition, offset, timestamp: timestampMs, key, value, headers, reason });
}

/** Continues the last file if its format is ours, else starts one, in the first folder that can be written to. */
function openWriter(folders: string[], count: number, log: ArchiveRejectSinkOptions['log']): ContainerWriter {
  const [folder, fallback] = folders;
  try {
    return openIn(folder!, count);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (fallback === undefined || !unwritable.has(code)) throw error;
    log?.warn(`Cannot write to ${folder} (${code}): bad records go to ${fallback}`);
    return openIn(fallback, count);
  }
}

/** `known`: the number of bad records there. A new file is named by it. */
function openIn(folder: string, known: number): ContainerWriter {
  let count = known;
  makeFolder(folder, 'bad records');
  const schemaText = JSON.stringify(rejectedSchema);
  const last = rejectedFiles(folder).at(-1);
  const content = last === undefined ? null : readContainer(last);
  if (last !== undefined && content && content.header.schemaText === schemaText) {
    return ContainerWriter.resume(last, content);
  }
  // A crash between creating the file and writing its header.
  if (last !== undefined && !content) rmSync(last);
  let path = archiveFilePath(folder, 0, count);
  while (existsSync(path)) path = archiveFilePath(folder, 0, ++count);
  return ContainerWriter.create(path, schemaText, 'deflate');
}
