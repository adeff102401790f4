import { type Dirent, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MissingTopicsError } from '../../../projector/ports/event-log.ts';
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

const namePattern = /^(0|[1-9]\d{0,5})-(\d{20})\.avro$/;

export function archiveFolder(dir: string, prefix: string, name: string): string {
  return join(dir, prefix + name);
}

export function archiveFileName(partition: number, firstOffset: number): string {
  return `${partition}-${String(firstOffset).padStart(20, '0')}.avro`;
}

export function archiveFilePath(folder: string, partition: number, firstOffset: number): string {
  return join(folder, archiveFileName(partition, firstOffset));
}

/** A topic's files by partition. Null if it has no folder. Throws ArchiveError for a misnamed file. */
async function listTopicFiles(folder: string): Promise<ArchiveFile[][] | null> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ArchiveError(`Cannot read the archive's folder ${folder}: ${(error as Error).message}`, { cause: error });
  }
  return filesByPartition(folder, names);
}

/** A folder's archive files by partition, in the order of their offsets. Throws ArchiveError for a misnamed file. */
export function filesByPartition(folder: string, names: readonly string[]): ArchiveFile[][] {
  const ours = names.filter((name) => name.endsWith('.avro') && !isHidden(name));
  return byPartition(ours.map((name) => archiveFile(folder, name)));
}

/** Other tools leave checksums and notes beside their files. */
export const isHidden = (name: string): boolean => name.startsWith('.') || name.startsWith('_');

/** Files by partition, of which there are `partitions` at least, in the order of their offsets. */
export function byPartition(files: readonly ArchiveFile[], partitions = 0): ArchiveFile[][] {
  const count = files.reduce((most, { partition }) => Math.max(most, partition + 1), partitions);
  const lists = Array.from({ length: count }, (): ArchiveFile[] => []);
  for (const file of files.toSorted((a, b) => a.firstOffset - b.firstOffset)) lists[file.partition]!.push(file);
  return lists;
}

/** An archive file by its name. Throws ArchiveError for a misnamed one. */
export function archiveFile(folder: string, name: string): ArchiveFile {
  const path = join(folder, name);
  const match = namePattern.exec(name);
  const firstOffset = Number(match?.[2]);
  if (!match || !Number.isSafeInteger(firstOffset)) {
    throw new ArchiveError(
      `Cannot read ${path}: rename it to <partition>-<first offset, 20 digits>.avro, such as ${archiveFileName(0, 0)}, or move it out of the archive`,
    );
  }
  return { path, partition: Number(match[1]), firstOffset };
}

/**
 * Lists an archive. `named`: what names the folder, for messages. Throws MissingTopicsError if no topic has a folder,
 * and ArchiveError.
 */
export async function listArchive(dir: string, prefix: string, named: string): Promise<ArchiveListing> {
  refuseLinks(dir);
  const lists = await Promise.all(topicNames.map((topic) => listTopicFiles(archiveFolder(dir, prefix, topic))));
  if (lists.every((list) => list === null)) throw await noTopics(dir, prefix, named);
  return Object.fromEntries(
    topicNames.map((topic, index) => [topic, lists[index]?.length ? lists[index] : [[]]]),
  ) as ArchiveListing;
}

/**
 * Throws ArchiveError for a link in an archive or in one of its topics' folders (docs/rules.md#archive-files): what it
 * points to may be outside, and archive forget would rewrite it. The archive itself may be reached by a link.
 */
export function refuseLinks(dir: string): void {
  const [link] = linksIn(dir);
  if (link !== undefined) throw new ArchiveError(`Cannot use the archive: ${link} ${linkProblem}`);
}

export const linkProblem = 'is a link; put what it points to in its place, or take it out of the archive';

/** The links in an archive, and in the folders of its topics. */
export function linksIn(dir: string): string[] {
  const entries = entriesOf(dir);
  const ours = [...topicNames, 'rejected'];
  const folders = entries.filter((one) => one.isDirectory() && ours.some((name) => one.name.endsWith(name)));
  const links = [...entries, ...folders.flatMap(({ name }) => entriesOf(join(dir, name)))];
  return links.filter((one) => one.isSymbolicLink()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Empty for a folder that cannot be read: the code that reads it reports that. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

async function noTopics(dir: string, prefix: string, named: string): Promise<MissingTopicsError> {
  const fix = `name a folder that holds ${prefix}rides, ${prefix}nights and so on, or make one: npx ride-calendar simulate --archive ${dir}`;
  let what = `it holds no folder of a topic (${prefix}<topic>)`;
  try {
    const others = prefixesOf(await readdir(dir));
    if (others.length > 0) what += `, but of KAFKA_TOPIC_PREFIX ${others.join(' and ')}`;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    what = code === 'ENOENT' ? 'there is no such folder' : `it is not a readable folder (${code})`;
  }
  return new MissingTopicsError(`Cannot read the archive ${dir}: ${what}. ${named}: ${fix}`);
}

/**
 * The prefix of an archive's folders: `wanted` if it has folders with that prefix, else the only prefix that it has, so
 * that it can be loaded into topics with another prefix. Throws MissingTopicsError if there are several.
 */
export async function archivePrefix(dir: string, wanted: string): Promise<string> {
  const prefixes = prefixesOf(await readdir(dir).catch(() => []));
  if (prefixes.length === 0 || prefixes.includes(wanted)) return wanted;
  if (prefixes.length === 1) return prefixes[0]!;
  throw new MissingTopicsError(
    `Cannot choose an archive in ${dir}: it has folders of the prefixes ${prefixes.join(', ')}, and none of ${wanted}; move the one that is meant to a folder of its own`,
  );
}

/** The prefixes of the topic folders in an archive. */
export function prefixesOf(names: readonly string[]): string[] {
  const found = names.flatMap((name) => {
    const topic = topicNames.find((one) => name.endsWith(one));
    return topic === undefined ? [] : [name.slice(0, -topic.length)];
  });
  return [...new Set(found)].sort();
}
