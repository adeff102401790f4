import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import {
  ArchiveError,
  type ArchiveFile,
  archiveFolder,
  listArchive,
  missingFolders,
  pathWithin,
} from '../format/archive-files.ts';
import { isForgetting, journalPath } from '../format/archive-journal.ts';
import {
  type ArchiveManifest,
  type ManifestPartition,
  manifestName,
  readManifest,
} from '../format/archive-manifest.ts';
import { rejectedFiles, rejectsIn } from '../format/archive-rejects.ts';
import { hashSchemaOf, type PartitionLedger } from '../format/partition-ledger.ts';
import {
  type ArchiveProblem,
  compareFile,
  compareFiles,
  compareLedger,
  type Findings,
  readLedger,
} from './partition-inspection.ts';

interface CheckOptions {
  dir: string;
  prefix: string;
  /** For messages. */
  command: string;
  signal: AbortSignal;
  onProgress?: (progress: { done: number; total: number }) => void;
}

export interface CheckedArchive extends Findings {
  manifest: ArchiveManifest | null;
  /** The number of files in the topics' folders. */
  files: number;
  records: number;
  rejected: number;
}

/**
 * Compares an archive with its manifest (docs/rules.md#archive-check), and with `readsAll` reads every record. An archive
 * without a manifest is read as it is. Throws MissingTopicsError if the folder is no archive, ArchiveError for a
 * manifest or a link that is refused, and the signal's reason.
 */
export async function checkArchive(options: CheckOptions, readsAll: boolean): Promise<CheckedArchive> {
  const { dir, prefix, command, signal, onProgress } = options;
  const manifest = readManifest(dir);
  const foreign: ArchiveProblem[] = [];
  const onMisnamed = (file: string, problem: string): void => void foreign.push({ file, kind: 'foreign', problem });
  const listing = listArchive(dir, prefix, command, onMisnamed);
  const all = topicNames.flatMap((topic) => listing[topic].flat());
  const found: CheckedArchive = { manifest, problems: [], more: [], files: all.length, records: 0, rejected: 0 };
  const total = sizeOf(all) * ((manifest ? 1 : 0) + (readsAll ? 1 : 0));
  let done = 0;
  /** Bytes compared with the manifest, or read as records. */
  const onBytes = (bytes: number): void => {
    done = Math.min(total, done + bytes);
    onProgress?.({ done, total });
  };
  onBytes(0);
  const reading = { signal, onBytes };

  async function partition(
    topic: TopicName,
    files: readonly ArchiveFile[],
    partition: number,
    said: ManifestPartition | null,
  ): Promise<void> {
    const folder = archiveFolder(dir, prefix, topic);
    const before = found.problems.length;
    if (said) await compareFiles(folder, files, said, found, reading);
    else if (manifest) {
      const problem = `the manifest has no partition ${partition} of ${topic}`;
      found.problems.push(...files.map(({ path }) => ({ file: path, kind: 'foreign' as const, problem })));
    }
    if (!readsAll) return;
    const size = sizeOf(files);
    const warn = (problem: string) => {
      // A save that was killed, or is at work, may end within a block that the manifest does not cover.
      if (!said) found.problems.push({ file: folder, kind: 'cut', problem });
    };
    let ledger: PartitionLedger;
    const onShare = (share: number): void => onBytes(share * size);
    try {
      ledger = await readLedger({ topic, partition }, files, { signal, warn, onShare });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      if (found.problems.length === before)
        found.problems.push({ file: folder, kind: 'altered', problem: error.message });
      return;
    }
    found.records += ledger.records;
    const sameHash = manifest?.topics[topic]?.hash_schema === hashSchemaOf(topic);
    if (said && sameHash && found.problems.length === before)
      found.problems.push(...compareLedger(said, ledger, { topic, dir }));
  }

  async function rejected(): Promise<void> {
    const folder = archiveFolder(dir, prefix, 'rejected');
    const said = new Map(manifest?.rejected.map((file) => [pathWithin(folder, file.name), file]));
    const before = found.problems.length;
    for (const [path, file] of said) await compareFile(path, file, found, reading);
    for (const path of rejectedFiles(folder)) {
      if (manifest && !said.has(path)) found.more.push(path);
      if (!readsAll || found.problems.length > before) continue;
      try {
        for (const _ of rejectsIn(path, prefix)) found.rejected++;
      } catch (error) {
        if (!(error instanceof ArchiveError)) throw error;
        found.problems.push({ file: path, kind: 'altered', problem: error.message });
      }
    }
  }

  for (const topic of topicNames) {
    const said = manifest?.topics[topic]?.partitions ?? [];
    for (let i = 0; i < Math.max(listing[topic].length, said.length); i++) {
      await partition(topic, listing[topic][i] ?? [], i, said[i] ?? null);
    }
  }
  await rejected();
  const missing = missingFolders(dir, prefix).map((one) => ({ ...one, kind: 'missing' as const }));
  return { ...found, problems: [...unfinished(dir, manifest), ...missing, ...foreign, ...found.problems] };
}

/** What commands that write archives have not come to the end of. */
function unfinished(dir: string, manifest: ArchiveManifest | null): ArchiveProblem[] {
  const problems: ArchiveProblem[] = [];
  if (isForgetting(dir)) {
    const problem = 'archive forget was ended by force: call it again, and it finishes';
    problems.push({ file: journalPath(dir), kind: 'unfinished', problem });
  }
  if (manifest && manifest.exact_since === null && manifest.saved_until === null) {
    const problem = 'its first save has not come to the end of the log; archive save goes on with it';
    problems.push({ file: join(dir, manifestName), kind: 'unfinished', problem });
  }
  return problems;
}

const sizeOf = (files: readonly ArchiveFile[]): number => files.reduce((sum, { path }) => sum + statSync(path).size, 0);

export const moreThanSaid =
  'it has more than the manifest says: a save is at work, or was killed; the next one cuts that off';

/**
 * Throws ArchiveError that names the file if an archive differs from its manifest (docs/rules.md#archive-read). Every
 * file's hash is compared, which takes a small part of the time for reading it. `verb` and `fix`: for messages, what the
 * command does with the archive; what it did and what to do. Returns what may not be all of a log, or is covered by no
 * hash: of a save that is at work, or was killed.
 */
export async function assertAsSaved(
  options: CheckOptions,
  verb: string,
  fix: string,
): Promise<Pick<ArchiveProblem, 'file' | 'problem'>[]> {
  const { dir } = options;
  if (!isForgetting(dir) && !readManifest(dir)) return [];
  const { problems, more } = await checkArchive(options, false);
  // After archive forget was killed, some files may still name the rider.
  const [wrong, ...others] = problems.filter(({ kind, file }) => kind !== 'unfinished' || file === journalPath(dir));
  if (wrong) {
    const also = others.length > 0 ? ` (and ${others.length} more: ride-calendar archive check ${dir})` : '';
    throw new ArchiveError(`Cannot ${verb} the archive ${dir}: ${wrong.file}: ${wrong.problem}${also}. ${fix}`);
  }
  return [...problems, ...more.map((file) => ({ file, problem: moreThanSaid }))];
}
