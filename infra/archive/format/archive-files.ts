import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MissingTopicsError } from '../../../projector/ports/event-log.ts';
import { foreignText } from '../../../projector/running/foreign-text.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';

/** e.g. `backup/ride-calendar.nights/0-00000000000000000017.avro` (docs/rules.md#archive-files). */
export interface ArchiveFile {
  path: string;
  partition: number;
  /** No record of the file has a lower offset. */
  firstOffset: number;
}

/** Each topic's files by partition, in the order of their offsets. A topic without a folder has one empty partition. */
export type ArchiveListing = Record<TopicName, ArchiveFile[][]>;

/** An archive that cannot be used as it is. The message names the file or folder and the fix. */
export class ArchiveError extends Error {
  override name = 'ArchiveError';
}

/** What is read or written as a file. */
const ownFile = /^(manifest\.json|\.lock|\..*\.forgotten|[^._].*\.avro)$/;

const namePattern = /^(0|[1-9]\d{0,5})-(\d{20})\.avro$/;

/**
 * The path of a file or folder whose name an archive's own files say, such as the manifest. Throws ArchiveError for a name
 * that leads elsewhere (docs/rules.md#archive-files): what a command reads and writes is below the archive's folder.
 */
export function pathWithin(folder: string, name: string): string {
  if (!/[/\\\0]/.test(name) && name !== '..' && name !== '.') return join(folder, name);
  throw new ArchiveError(
    `Cannot use the archive: a name in it, ${foreignText(name)}, leads out of ${folder}; use one from somebody you trust`,
  );
}

export const archiveFolder = (dir: string, prefix: string, name: string): string => pathWithin(dir, prefix + name);

function archiveFileName(partition: number, firstOffset: number): string {
  return `${partition}-${String(firstOffset).padStart(20, '0')}.avro`;
}

export const archiveFilePath = (folder: string, partition: number, firstOffset: number): string =>
  join(folder, archiveFileName(partition, firstOffset));

/** The names of a folder's archive files, sorted. Null without a folder. Throws ArchiveError if it cannot be read. */
export function archiveFileNames(folder: string): string[] | null {
  try {
    // Other tools leave checksums and notes beside them.
    return readdirSync(folder)
      .filter((name) => name.endsWith('.avro') && !/^[._]/.test(name))
      .sort();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ArchiveError(`Cannot read the archive's folder ${folder}: ${message}`, { cause: error });
  }
}

/** A topic's files by partition, in the order of their offsets. */
function byPartition(folder: string, names: readonly string[], onMisnamed: OnMisnamed): ArchiveFile[][] {
  // In the order of their names, so of their offsets.
  const files = names.flatMap((name) => archiveFile(folder, name) ?? onMisnamed(join(folder, name), misnamed) ?? []);
  const lists = Array.from(
    { length: Math.max(1, ...files.map(({ partition }) => partition + 1)) },
    (): ArchiveFile[] => [],
  );
  for (const file of files) lists[file.partition]!.push(file);
  return lists;
}

/** An archive file by its name. Null for a misnamed one. */
function archiveFile(folder: string, name: string): ArchiveFile | null {
  const match = namePattern.exec(name);
  const firstOffset = Number(match?.[2]);
  if (!match || !Number.isSafeInteger(firstOffset)) return null;
  return { path: join(folder, name), partition: Number(match[1]), firstOffset };
}

/** What becomes of a file that is named as none of an archive: it is refused, or left out. */
type OnMisnamed = (path: string, problem: string) => void;

const misnamed = `rename it to <partition>-<first offset, 20 digits>.avro, such as ${archiveFileName(0, 0)}, or move it out of the archive`;

const refuseMisnamed: OnMisnamed = (path, problem) => {
  throw new ArchiveError(`Cannot read ${path}: ${problem}`);
};

/**
 * Lists an archive. `named`: what names the folder, for messages. Throws MissingTopicsError if no topic has a folder,
 * and ArchiveError, also for a misnamed file where nothing else is to become of it.
 */
export function listArchive(dir: string, prefix: string, named: string, onMisnamed = refuseMisnamed): ArchiveListing {
  refuseLinks(dir);
  const names = topicNames.map((topic) => archiveFileNames(archiveFolder(dir, prefix, topic)));
  if (names.every((list) => list === null)) throw noTopics(dir, prefix, named);
  const listOf = (topic: TopicName, index: number) =>
    byPartition(archiveFolder(dir, prefix, topic), names[index] ?? [], onMisnamed);
  return Object.fromEntries(topicNames.map((topic, index) => [topic, listOf(topic, index)])) as ArchiveListing;
}

/** The topics whose whole folder an archive lacks. All have one in an archive that we write. */
export const missingFolders = (dir: string, prefix: string): { file: string; problem: string }[] =>
  topicNames
    .map((topic) => archiveFolder(dir, prefix, topic))
    .filter((folder) => archiveFileNames(folder) === null)
    .map((file) => ({ file, problem: 'there is no such folder: the topic counts as empty' }));

/**
 * Throws ArchiveError for what is neither file nor folder in an archive or in one of its topics' folders, and for a folder
 * that has a file's name (docs/rules.md#archive-files): what a link points to may be outside, and archive forget would rewrite it; reading a pipe
 * would never end. The archive itself may be reached by a link.
 */
export function refuseLinks(dir: string): void {
  const entries = entriesOf(dir);
  const ours = [...topicNames, 'rejected'];
  const folders = entries.filter((one) => one.isDirectory() && ours.some((name) => one.name.endsWith(name)));
  const all = [...entries, ...folders.flatMap(({ name }) => entriesOf(join(dir, name)))];
  const odd = all.find((one) => !one.isFile() && !(one.isDirectory() && !ownFile.test(one.name)));
  if (!odd) return;
  const kind = odd.isDirectory() ? 'is a folder;' : 'is neither file nor folder;';
  const fault = odd.isSymbolicLink() ? 'is a link; put what it points to in its place, or' : kind;
  throw new ArchiveError(
    `Cannot use the archive: ${join(odd.parentPath, odd.name)} ${fault} take it out of the archive`,
  );
}

/** Empty for a folder that cannot be read: the code that reads it reports that. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function noTopics(dir: string, prefix: string, named: string): MissingTopicsError {
  const fix = `name a folder that holds ${prefix}rides, ${prefix}nights and so on, or make one: npx ride-calendar simulate --archive ${dir}`;
  let what = `it holds no folder of a topic (${prefix}<topic>)`;
  try {
    const others = prefixesOf(readdirSync(dir));
    if (others.length > 0) what += `, but of KAFKA_TOPIC_PREFIX ${others.join(' and ')}`;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    what = code === 'ENOENT' ? 'there is no such folder' : `it is not a readable folder (${code})`;
  }
  return new MissingTopicsError(`Cannot read the archive ${dir}: ${what}. ${named}: ${fix}`);
}

/** The prefixes of the topic folders in an archive. */
export function prefixesOf(names: readonly string[]): string[] {
  const found = names.flatMap((name) => {
    const topic = topicNames.find((one) => name.endsWith(one));
    return topic === undefined ? [] : [name.slice(0, -topic.length)];
  });
  return [...new Set(found)].sort();
}
