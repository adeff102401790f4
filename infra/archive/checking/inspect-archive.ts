import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import {
  ArchiveError,
  type ArchiveFile,
  type ArchiveListing,
  archiveFile,
  archiveFolder,
  byPartition,
  isHidden,
  listArchive,
} from '../format/archive-files.ts';
import type { ArchiveManifest } from '../format/archive-manifest.ts';
import { readRejectedFile, rejectedFiles } from '../format/archive-reject-sink.ts';
import { containerSummary } from '../format/avro-container.ts';
import { hashSchemaOf } from '../format/partition-ledger.ts';
import {
  type ArchiveProblem,
  differenceOf,
  inspectPartition,
  type KnownPartition,
  type PartitionToInspect,
} from './partition-inspection.ts';

export interface InspectOptions extends Pick<PartitionToInspect, 'read' | 'beingWritten' | 'signal'> {
  dir: string;
  prefix: string;
  manifest: ArchiveManifest | null;
  onProgress?: (progress: { done: number; total: number }) => void;
}

export interface ArchiveInspection {
  partitions: Record<TopicName, KnownPartition[]>;
  problems: ArchiveProblem[];
  /** The number of files in the topics' folders. */
  files: number;
  records: number;
  rejected: number;
}

/**
 * Compares an archive without links with its manifest and reads it: every record, or only those that the manifest does not
 * cover. An archive without a manifest is read as it is. Throws MissingTopicsError if the folder is no archive, and the
 * signal's reason.
 */
export async function inspectArchive(options: InspectOptions): Promise<ArchiveInspection> {
  const { dir, prefix, manifest } = options;
  const problems: ArchiveProblem[] = [];
  const listing = await list(options, problems);
  const progress = progressOf(options, listing);
  const partitions = {} as ArchiveInspection['partitions'];
  let records = 0;
  for (const topic of topicNames) {
    partitions[topic] = [];
    const said = manifest?.topics[topic];
    for (const [partition, files] of listing[topic].entries()) {
      const place = { topic, partition, folder: archiveFolder(dir, prefix, topic), files };
      const sameHash = said?.hash_schema === hashSchemaOf(topic);
      const one = { ...options, ...place, said: said?.partitions[partition] ?? null, sameHash, onBytes: progress };
      const known = await inspectPartition(one);
      problems.push(...known.problems);
      partitions[topic].push(known);
      records += known.ledger.records;
    }
  }
  const rejected = await inspectRejected(options, progress, problems);
  return {
    partitions,
    problems,
    files: topicNames.reduce((sum, topic) => sum + listing[topic].flat().length, 0),
    records,
    rejected,
  };
}

/**
 * A file of bad records may have more than the manifest says, after a save that was killed. The next save adds it to
 * the manifest.
 */
async function inspectRejected(
  options: InspectOptions,
  onBytes: (bytes: number) => void,
  problems: ArchiveProblem[],
): Promise<number> {
  const { dir, prefix, manifest, read, beingWritten, signal } = options;
  const folder = archiveFolder(dir, prefix, 'rejected');
  const bad = new Set<string>();
  for (const said of manifest?.rejected ?? []) {
    const path = join(folder, said.name);
    const altered = 'its bytes are not those that were saved';
    const problem = await differenceOf(path, said, altered, { signal, onBytes });
    if (!problem) continue;
    bad.add(path);
    problems.push(problem);
  }
  let count = 0;
  for (const path of read === 'none' ? [] : rejectedFiles(folder)) {
    try {
      for (const _ of readRejectedFile(path, prefix)) count++;
      if (beingWritten || read !== 'all' || bad.has(path) || containerSummary(path)?.restBytes === 0) continue;
      problems.push({ file: path, kind: 'cut', problem: 'it ends within a block' });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      if (!bad.has(path)) problems.push({ file: path, kind: 'altered', problem: error.message });
    }
  }
  return count;
}

/** Every partition's files, also those that only the manifest names. */
async function list({ dir, prefix, manifest }: InspectOptions, problems: ArchiveProblem[]): Promise<ArchiveListing> {
  const listing = {} as ArchiveListing;
  let folders = 0;
  for (const topic of topicNames) {
    const said = manifest?.topics[topic]?.partitions.length ?? 0;
    const folder = archiveFolder(dir, prefix, topic);
    const names = namesIn(folder);
    if (names) folders++;
    const files: ArchiveFile[] = [];
    for (const name of names ?? []) {
      const file = isHidden(name) ? null : fileOf(folder, name);
      if (file === null) continue;
      if ('problem' in file) problems.push(file);
      else if (!manifest || file.partition < said) files.push(file);
      else problems.push(foreign(file.path, `the manifest has ${said} partitions of ${topic}`));
    }
    listing[topic] = byPartition(files, Math.max(1, said));
  }
  // Throws an error that says what is wrong with the folder.
  if (folders === 0 && !manifest) await listArchive(dir, prefix, 'archive check');
  return listing;
}

function namesIn(folder: string): string[] | null {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new ArchiveError(`Cannot read the archive's folder ${folder}: ${message}`, { cause: error });
  }
}

const foreign = (file: string, problem: string): ArchiveProblem => ({ file, kind: 'foreign', problem });

/** Null for a file that does not belong to an archive. */
function fileOf(folder: string, name: string): ArchiveFile | ArchiveProblem | null {
  const file = join(folder, name);
  if (!name.endsWith('.avro')) return null;
  try {
    return archiveFile(folder, name);
  } catch (error) {
    return foreign(file, (error as Error).message.replace(`Cannot read ${file}: `, ''));
  }
}

/** Bytes compared with the manifest, and bytes read as records. */
function progressOf({ manifest, read, onProgress }: InspectOptions, listing: ArchiveListing): (bytes: number) => void {
  const sizes = topicNames.flatMap((topic) => listing[topic].flat().map(({ path }) => statSync(path).size));
  const total = sizes.reduce((sum, size) => sum + size, 0) * ((manifest ? 1 : 0) + (read === 'all' ? 1 : 0));
  let done = 0;
  onProgress?.({ done, total });
  return (bytes) => {
    done = Math.min(total, done + bytes);
    onProgress?.({ done, total });
  };
}
