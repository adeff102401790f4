import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { type ArchiveFile, pathWithin } from '../format/archive-files.ts';
import { type ManifestFile, type ManifestPartition, manifestName } from '../format/archive-manifest.ts';
import { PartitionLedger } from '../format/partition-ledger.ts';
import { partitionBounds } from '../log/archive-bounds.ts';
import { recordsWithin } from '../log/archive-partition.ts';

/**
 * missing, cut, altered: differs from the manifest, or cannot be read. foreign: not in the manifest. unfinished: a
 * command that writes archives has not come to its end.
 */
type ProblemKind = 'missing' | 'cut' | 'altered' | 'foreign' | 'unfinished';

export interface ArchiveProblem {
  file: string;
  kind: ProblemKind;
  problem: string;
}

/** What comparing with the manifest finds. `more`: files that hold more than the manifest says, or are not in it yet. */
export interface Findings {
  problems: ArchiveProblem[];
  more: string[];
}

export interface ReadingOptions {
  signal: AbortSignal;
  onBytes?: (bytes: number) => void;
}

/** Compares a partition's files with those that the manifest lists. */
export async function compareFiles(
  folder: string,
  files: readonly ArchiveFile[],
  said: ManifestPartition,
  findings: Findings,
  reading: ReadingOptions,
): Promise<void> {
  for (const file of said.files) await compareFile(pathWithin(folder, file.name), file, findings, reading);
  for (const { path, firstOffset } of files) {
    if (said.files.some(({ name }) => name === basename(path))) continue;
    if (firstOffset >= (said.next_offset ?? 0)) findings.more.push(path);
    else findings.problems.push({ file: path, kind: 'foreign', problem: 'the manifest does not list it' });
  }
}

/** Compares a file with its entry in the manifest. */
export async function compareFile(
  file: string,
  said: ManifestFile,
  { problems, more }: Findings,
  reading: ReadingOptions,
): Promise<void> {
  const size = await stat(file).then(
    (found) => found.size,
    () => null,
  );
  if (size === null) {
    problems.push({ file, kind: 'missing', problem: `it is not there; the manifest says ${said.records} records` });
  } else if (size < said.bytes) {
    problems.push({ file, kind: 'cut', problem: `it has ${size} bytes, and the manifest says ${said.bytes}` });
  } else if ((await sha256Of(file, said.bytes, reading)) !== said.sha256) {
    const problem = 'its bytes are not those that were saved: its SHA-256 is not the manifest’s';
    problems.push({ file, kind: 'altered', problem });
  } else if (size > said.bytes) more.push(file);
}

async function sha256Of(path: string, bytes: number, { signal, onBytes }: ReadingOptions): Promise<string> {
  const hash = createHash('sha256');
  if (bytes > 0) {
    const stream = createReadStream(path, { end: bytes - 1, highWaterMark: 1 << 20, signal });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      onBytes?.(chunk.length);
    }
  }
  return hash.digest('hex');
}

interface LedgerOptions {
  signal: AbortSignal;
  /** Records at this offset and after it are left out. Absent: none. */
  end?: number;
  /** Where the last file ends within a block. */
  warn?: (message: string) => void;
  /** Which part of the partition has been read since the last call. */
  onShare?: (share: number) => void;
}

/** Reads the records of a partition, as every reader does, and says what they are. Throws ArchiveError. */
export async function readLedger(
  { topic, partition }: { topic: TopicName; partition: number },
  files: readonly ArchiveFile[],
  { signal, end: wanted, warn = () => {}, onShare }: LedgerOptions,
): Promise<PartitionLedger> {
  const ledger = new PartitionLedger(topic);
  const { low, end } = await partitionBounds(topic, files, warn);
  const bounds = { low, end: Math.min(end, wanted ?? end) };
  for await (const records of recordsWithin({ topic, partition }, files, bounds)) {
    signal.throwIfAborted();
    for (const record of records) ledger.addRead(decoded(record));
    onShare?.(records.length / (end - low));
  }
  return ledger;
}

/** Compares the manifest's numbers and hash with the records, unless there are more records than it says. */
export function compareLedger(
  said: ManifestPartition,
  ledger: PartitionLedger,
  { topic, dir }: { topic: TopicName; dir: string },
): ArchiveProblem[] {
  const found = ledger.summary();
  if ((found.last_offset ?? -1) > (said.last_offset ?? -1)) return [];
  const names = ['records', 'first_offset', 'last_offset', 'first_timestamp', 'last_timestamp', 'hash'] as const;
  const differing = names.filter((name) => found[name] !== said[name]);
  if (differing.length === 0) return [];
  const are = differing.length === 1 ? 'is' : 'are';
  const problem = `its ${differing.join(', ')} of ${topic}/${said.partition} ${are} not that of the records`;
  return [{ file: join(dir, manifestName), kind: 'altered', problem }];
}
