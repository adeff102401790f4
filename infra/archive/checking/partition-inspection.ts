import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { decoded, type LogRecord, type UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { OpenArchiveFile } from '../format/archive-file.ts';
import { ArchiveError, type ArchiveFile, archiveFileName } from '../format/archive-files.ts';
import { type ManifestFile, type ManifestPartition, manifestName } from '../format/archive-manifest.ts';
import { PartitionLedger } from '../format/partition-ledger.ts';

/**
 * missing, cut, altered: differs from the manifest, or cannot be read. foreign: not in the manifest. unfinished: has
 * more than the manifest says, as after a save that was killed.
 */
type ProblemKind = 'missing' | 'cut' | 'altered' | 'foreign' | 'unfinished';

export interface ArchiveProblem {
  file: string;
  kind: ProblemKind;
  problem: string;
}

/**
 * The error for an archive that differs from its manifest, or cannot be read. `fix`: what the command did, and what to
 * do.
 */
export function notAsSaved(
  dir: string,
  problems: readonly ArchiveProblem[],
  fix: string,
  verb = 'go on with',
): ArchiveError {
  const [{ file, problem }] = problems as [ArchiveProblem];
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more: ride-calendar archive check ${dir})` : '';
  return new ArchiveError(`Cannot ${verb} the archive ${dir}: ${file}: ${problem}${more}. ${fix}`);
}

/** What a partition contains, and its files' manifest entries. They are complete only if `read` is `uncovered`. */
export interface KnownPartition {
  ledger: PartitionLedger;
  files: ManifestFile[];
}

/** Which records are read: all, those that the manifest does not cover, or none. With none, only files are compared. */
export type Reading = 'all' | 'uncovered' | 'none';

export interface PartitionToInspect {
  topic: TopicName;
  partition: number;
  folder: string;
  files: readonly ArchiveFile[];
  /** What the manifest says about it. Null without a manifest. */
  said: ManifestPartition | null;
  /** Whether the manifest's hash covers the same bytes as ours. */
  sameHash: boolean;
  read: Reading;
  /** Another process is writing it: a file may end within a block, and have more than the manifest says. */
  beingWritten: boolean;
  signal: AbortSignal;
  onBytes?: (bytes: number) => void;
}

/** Compares a partition with the manifest, and reads its records: all of them, or only those that it must. */
export async function inspectPartition(
  one: PartitionToInspect,
): Promise<KnownPartition & { problems: ArchiveProblem[] }> {
  const problems = await compareFiles(one);
  if (one.read === 'none') return { ledger: new PartitionLedger(one.topic), files: [], problems };
  const { ledger, ends } = await readRecords(one, problems);
  const files = new Map(one.said?.files.map((file) => [file.name, file]));
  for (const { file, records, bytes } of one.read === 'all' ? [] : ends) {
    const name = archiveFileName(file.partition, file.firstOffset);
    if (files.get(name)?.bytes === bytes) continue;
    files.set(name, { name, records, bytes, sha256: await sha256Of(file.path, bytes, one) });
  }
  return { ledger, files: [...files.values()], problems };
}

/** How a partition's files differ from those that the manifest lists. */
async function compareFiles(one: PartitionToInspect): Promise<ArchiveProblem[]> {
  const { said, folder, files, beingWritten } = one;
  if (!said) return [];
  const problems: ArchiveProblem[] = [];
  for (const file of said.files) {
    const path = join(folder, file.name);
    const problem = await differenceOf(path, file, altered, one);
    if (problem) problems.push(problem);
    else if (!beingWritten && (await sizeOf(path))! > file.bytes) problems.push(unfinished(path));
  }
  for (const { path, firstOffset } of files) {
    if (said.files.some(({ name }) => name === basename(path))) continue;
    if (firstOffset < (said.next_offset ?? 0)) problems.push(foreign(path));
    else if (!beingWritten) problems.push(unfinished(path));
  }
  return problems;
}

/**
 * How a file differs from its entry in the manifest. The file may have more bytes than the entry. `altered`: the
 * message for bytes that differ.
 */
export async function differenceOf(
  file: string,
  said: ManifestFile,
  altered: string,
  reading: Pick<PartitionToInspect, 'signal' | 'onBytes'>,
): Promise<ArchiveProblem | null> {
  const size = await sizeOf(file);
  if (size === null) {
    return { file, kind: 'missing', problem: `it is not there; the manifest says ${said.records} records` };
  }
  if (size < said.bytes) {
    return { file, kind: 'cut', problem: `it has ${size} bytes, and the manifest says ${said.bytes}` };
  }
  const isSame = (await sha256Of(file, said.bytes, reading)) === said.sha256;
  return isSame ? null : { file, kind: 'altered', problem: altered };
}

const sizeOf = (path: string): Promise<number | null> =>
  stat(path).then(
    ({ size }) => size,
    () => null,
  );

const altered = 'its bytes are not those that were saved: its SHA-256 is not the manifest’s';

const foreign = (file: string): ArchiveProblem => ({ file, kind: 'foreign', problem: 'the manifest does not list it' });

const unfinished = (file: string): ArchiveProblem => ({
  file,
  kind: 'unfinished',
  problem: 'it has more than the manifest says: a save was ended by force; archive save takes it up',
});

async function sha256Of(
  path: string,
  bytes: number,
  { signal, onBytes }: Pick<PartitionToInspect, 'signal' | 'onBytes'>,
): Promise<string> {
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

/** Where a file's whole blocks end. */
interface FileEnd {
  file: ArchiveFile;
  records: number;
  bytes: number;
}

async function readRecords(
  one: PartitionToInspect,
  problems: ArchiveProblem[],
): Promise<{ ledger: PartitionLedger; ends: FileEnd[] }> {
  const { said } = one;
  const covered = one.sameHash && one.read !== 'all' ? said : null;
  const ledger = covered ? PartitionLedger.of(one.topic, covered) : new PartitionLedger(one.topic);
  const coveredTo = covered?.last_offset ?? -1;
  const take = (record: LogRecord | UndecodableRecord) => {
    if (record.offset > coveredTo) ledger.addRead(record);
  };
  const ends: FileEnd[] = [];
  let readTo = -1;
  for (const file of filesFrom(one.files, coveredTo + 1)) {
    try {
      const end = await readFile(one, file, { readTo, take });
      if (end) ends.push({ file, ...end });
      readTo = Math.max(readTo, end?.readTo ?? -1);
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      if (problems.every((one) => one.file !== file.path)) problems.push(unreadable(file.path, error));
    }
  }
  if (problems.length === 0) problems.push(...compareSummary(one, ledger));
  if (said?.next_offset != null) ledger.nextOffset = Math.max(said.next_offset, ledger.nextOffset ?? 0);
  return { ledger, ends };
}

function filesFrom(files: readonly ArchiveFile[], offset: number): readonly ArchiveFile[] {
  const first = files.findLastIndex(({ firstOffset }) => firstOffset <= offset);
  return files.slice(Math.max(0, first));
}

class CutError extends ArchiveError {}

/** Reads a file's records. Null if it ends within its header. */
async function readFile(
  one: PartitionToInspect,
  file: ArchiveFile,
  { readTo, take }: { readTo: number; take: (record: LogRecord | UndecodableRecord) => void },
): Promise<{ records: number; bytes: number; readTo: number } | null> {
  // A save that is killed leaves an incomplete block at the end. The next save cuts it off.
  const mayBeCut = file === one.files.at(-1) && (one.beingWritten || one.read !== 'all');
  const open = OpenArchiveFile.open(one.topic, file);
  if (!open && !mayBeCut) throw new CutError('it ends within its header');
  if (!open) return null;
  const end = { records: 0, bytes: open.pos, readTo };
  try {
    for (let block = await open.nextRecords(); block; block = await open.nextRecords()) {
      one.signal.throwIfAborted();
      const [first] = block;
      if (first && first.offset < end.readTo) {
        throw new ArchiveError(`it holds offset ${first.offset}, but a file before it goes on to ${end.readTo - 1}`);
      }
      for (const record of block) take(decoded(record));
      if (one.read === 'all') one.onBytes?.(open.pos - end.bytes);
      end.records += block.length;
      end.bytes = open.pos;
      end.readTo = (block.at(-1)?.offset ?? end.readTo - 1) + 1;
    }
    if (open.restBytes() > 0 && !mayBeCut) throw new CutError(`it ends within a block, from byte ${open.pos} on`);
    return end;
  } finally {
    open.close();
  }
}

function unreadable(file: string, error: ArchiveError): ArchiveProblem {
  const problem = error.message
    .replace(`Cannot read ${file}`, 'it can not be read')
    .replace(/^it can not be read: /, '');
  return { file, kind: error instanceof CutError ? 'cut' : 'altered', problem };
}

/** Compares the manifest's numbers and hash with the records, unless there are more records than it says. */
function compareSummary({ said, sameHash, topic, partition, folder }: PartitionToInspect, ledger: PartitionLedger) {
  const found = ledger.summary();
  if (!said || !sameHash || (found.last_offset ?? -1) > (said.last_offset ?? -1)) return [];
  const names = ['records', 'first_offset', 'last_offset', 'first_timestamp', 'last_timestamp', 'hash'] as const;
  const differing = names.filter((name) => found[name] !== said[name]);
  if (differing.length === 0) return [];
  const file = join(folder, '..', manifestName);
  const are = differing.length === 1 ? 'is' : 'are';
  const problem = `its ${differing.join(', ')} of ${topic}/${partition} ${are} not that of the records`;
  return [{ file, kind: 'altered' as const, problem }];
}
