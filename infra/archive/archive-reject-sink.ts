import { existsSync, rmSync } from 'node:fs';
import type { Reject, RejectSink } from '../../projector/ports/event-log.ts';
import { rejectedSchema, rejectedType } from '../../schemas/avro/avro-types.ts';
import { RejectPlaces } from '../reject-places.ts';
import { archiveFilePath } from './archive-files.ts';
import { archiveRejected, type RejectedPlace, rejectedFiles, rejectedFolders } from './archive-rejected.ts';
import { readContainer } from './container-content.ts';
import { ContainerWriter } from './container-writer.ts';
import { makeFolder } from './make-folder.ts';

export interface ArchiveRejectSinkOptions extends RejectedPlace {
  log?: { warn(message: string): void };
}

/** An archive that was put there to be read only. */
const unwritable = new Set(['EACCES', 'EPERM', 'EROFS']);

/**
 * Sets bad records aside in the archive, durable before `publish` resolves. What is there already, whoever wrote it, is
 * read first: a restart publishes nothing twice.
 */
export function archiveRejectSink(options: ArchiveRejectSinkOptions): RejectSink {
  const published = new RejectPlaces();
  /** How many are there; null until they were read. */
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
      if (rejects.length === 0) return;
      known ??= readKnown();
      const fresh = published.unknown(rejects);
      if (fresh.length === 0) return;
      writer ??= openWriter(rejectedFolders(options), known, options.log);
      writer.appendBlock(fresh.length, Buffer.concat(fresh.map(encode)));
      writer.sync();
      // Only now: a full disk must leave them to be published again.
      for (const reject of fresh) published.add(reject);
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

/** Goes on with the last file where it is like ours, else begins one; in the first folder that can be written to. */
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

/** `known`: how many bad records there are, by which a new file is named. */
function openIn(folder: string, known: number): ContainerWriter {
  let count = known;
  makeFolder(folder, 'bad records');
  const schemaText = JSON.stringify(rejectedSchema);
  const last = rejectedFiles(folder).at(-1);
  const content = last === undefined ? null : readContainer(last);
  if (last !== undefined && content && content.header.schemaText === schemaText) {
    return ContainerWriter.resume(last, content);
  }
  // A crash came between making the file and writing its header.
  if (last !== undefined && !content) rmSync(last);
  let path = archiveFilePath(folder, 0, count);
  while (existsSync(path)) path = archiveFilePath(folder, 0, ++count);
  return ContainerWriter.create(path, schemaText, 'deflate');
}
