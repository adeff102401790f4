import { hash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MissingTopicsError } from '../../../projector/ports/event-log.ts';
import { idPattern } from '../../../schemas/events/patterns.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { ArchiveError, pathWithin, prefixesOf, refuseLinks } from './archive-files.ts';
import { writeAtomically } from './write-atomically.ts';

export const manifestName = 'manifest.json';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().min(0);
/** Beyond 2^53 a decimal text. */
const time = z.union([z.number().int(), z.string().regex(/^-?\d{16,19}$/)]).nullable();

const fileSchema = z.object({
  name: z.string(),
  records: count,
  /** The SHA-256 covers this many bytes from the start. */
  bytes: count,
  sha256,
});

const partitionSchema = z.object({
  partition: count,
  records: count,
  first_offset: count.nullable(),
  last_offset: count.nullable(),
  /** The offset where a save continues. Null if nothing was saved. */
  next_offset: count.nullable(),
  first_timestamp: time,
  last_timestamp: time,
  hash: z.union([sha256, z.literal('')]),
  files: z.array(fileSchema),
});

/** The schema of a writer whose values the archive keeps as they came. */
const writerSchema = z.object({
  /** The registry's id, in values of the Confluent wire format. Null: values name the schema by fingerprint. */
  id: z.number().int().nullable(),
  /** The eight bytes of the single-object encoding's header, in hexadecimal. */
  fingerprint: z.string().regex(/^[0-9a-f]{16}$/),
  schema: z.string(),
  /** The texts of the schemas that it refers to. A schema comes after those that it refers to itself. */
  references: z.array(z.string()).readonly(),
});

/** What `simulate` says of an archive that it made (docs/rules.md#picking-a-rider). */
const simulatedSchema = z.object({
  /** The text of a developer key that is live in the archive. It is made up, and can be computed from the seed. */
  developer_key: z.string().regex(/^rck_[A-Za-z0-9_-]{43}$/),
  /** A rider with nights, friends and flags around the day it was made for. Null once they were forgotten. */
  rider: z.string().regex(idPattern).nullable(),
});

const instant = z.iso.datetime().nullable();

const manifestSchema = z.object({
  version: z.literal(1),
  prefix: z.string(),
  /** Identifies the log by the ids of its topics. Null if unknown. */
  log: z.string().nullable(),
  /** Since when the archive has every record that was published. Null if unknown. */
  exact_since: instant,
  /** The archive has what the log held at this time. */
  saved_until: instant,
  topics: z.record(
    z.enum(topicNames as [string, ...string[]]),
    z.object({ hash_schema: z.string(), partitions: z.array(partitionSchema) }),
  ),
  rejected: z.array(fileSchema),
  /** Places of bad records that `archive forget` removed. The log may still hold them, and no save adds them again. */
  forgotten_rejects: z.array(z.string()),
  schemas: z.array(writerSchema),
  /** Absent unless all records are as `simulate` wrote them. */
  simulated: simulatedSchema.optional(),
});

export type ManifestFile = z.infer<typeof fileSchema>;
export type ManifestPartition = z.infer<typeof partitionSchema>;
export type ManifestWriterSchema = z.infer<typeof writerSchema>;
export type SimulatedArchive = z.infer<typeof simulatedSchema>;
/** `manifest.json` (docs/rules.md#archive-manifest). Timestamps of records are in milliseconds since the epoch. */
export type ArchiveManifest = z.infer<typeof manifestSchema>;

/** The manifest of an archive that has nothing yet. */
export const emptyManifest = (prefix: string): ArchiveManifest => ({
  version: 1,
  prefix,
  log: null,
  exact_since: null,
  saved_until: null,
  topics: {},
  rejected: [],
  forgotten_rejects: [],
  schemas: [],
});

/** An archive's manifest, or null if it has none. Throws ArchiveError if it cannot be read, or the archive holds a link. */
export function readManifest(dir: string): ArchiveManifest | null {
  refuseLinks(dir);
  const path = join(dir, manifestName);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ArchiveError(`Cannot read ${path}: ${message}`, { cause: error });
  }
  const manifest = parse(text);
  if ('wrong' in manifest)
    throw new ArchiveError(
      `Cannot read ${path}: ${manifest.wrong}; put the one back that was saved, or remove it: the archive is then read as it is`,
    );
  pathWithin(dir, `${manifest.prefix}rides`);
  return manifest;
}

function parse(text: string): ArchiveManifest | { wrong: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { wrong: 'it is not JSON' };
  }
  const { success, data, error } = manifestSchema.safeParse(value);
  if (!success) {
    const [issue] = error.issues;
    return {
      wrong: `it is not the manifest of an archive (${issue!.path.join('.') || 'the whole'}: ${issue!.message})`,
    };
  }
  const { checksum, ...content } = value as { checksum?: unknown };
  return checksum === checksumOf(content) ? data : { wrong: 'its checksum is not that of its content' };
}

/** Written atomically. The files that it names must be durable already. */
export function writeManifest(dir: string, manifest: ArchiveManifest): void {
  writeAtomically(join(dir, manifestName), manifestText(manifest));
}

/** One line per file and partition, so that two manifests can be compared by eye. Its last field is the checksum. */
export const manifestText = (manifest: ArchiveManifest): string =>
  `${JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, null, 1)}\n`;

/** Of the JSON without white space and without the checksum: a manifest may be formatted anew, but not changed. */
const checksumOf = (content: object): string => hash('sha256', JSON.stringify(content));

/**
 * The prefix of an archive's folders: its manifest's; without one `wanted` if it has folders with that prefix, else the
 * only prefix that it has, so that it can be loaded into topics with another prefix. Throws MissingTopicsError if there
 * are several.
 */
export function archivePrefix(dir: string, wanted: string): string {
  const manifest = readManifest(dir);
  if (manifest) return manifest.prefix;
  const isFolder = statSync(dir, { throwIfNoEntry: false })?.isDirectory();
  const prefixes = isFolder ? prefixesOf(readdirSync(dir)) : [];
  if (prefixes.length === 0 || prefixes.includes(wanted)) return wanted;
  if (prefixes.length === 1) return prefixes[0]!;
  throw new MissingTopicsError(
    `Cannot choose an archive in ${dir}: it has folders of the prefixes ${prefixes.join(', ')}, and none of ${wanted}; move the one that is meant to a folder of its own`,
  );
}
