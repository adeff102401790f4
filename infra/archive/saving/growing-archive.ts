import { existsSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Reject } from '../../../projector/ports/event-log.ts';
import { byTopic, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { assertAsSaved } from '../checking/check-archive.ts';
import { readLedger } from '../checking/partition-inspection.ts';
import { ArchiveError, archiveFileNames, archiveFolder, listArchive, refuseLinks } from '../format/archive-files.ts';
import { finishForgetting } from '../format/archive-journal.ts';
import { lockArchive } from '../format/archive-lock.ts';
import {
  type ArchiveManifest,
  emptyManifest,
  type ManifestFile,
  type ManifestWriterSchema,
  manifestName,
  readManifest,
  writeManifest,
} from '../format/archive-manifest.ts';
import { ArchiveRejects } from '../format/archive-rejects.ts';
import { makeFolder } from '../format/make-folder.ts';
import { type ArchiveRecord, hashSchemaOf, type KnownPartition, PartitionLedger } from '../format/partition-ledger.ts';
import { ArchiveWriter } from './archive-writer.ts';

interface GrowingArchiveOptions {
  dir: string;
  prefix: string;
  /** The writer's schema of a value that is kept as it came. Null if it is not known. */
  schemaOf: (value: Buffer) => ManifestWriterSchema | null;
  signal: AbortSignal;
}

/** What a save knows about an archive beyond its contents. */
export type SavedState = Pick<ArchiveManifest, 'log' | 'exact_since' | 'saved_until'>;

/** An archive that records are added to, with its manifest. One writer at a time (docs/rules.md#archive-save). */
export class GrowingArchive extends ArchiveWriter {
  readonly #options: GrowingArchiveOptions;
  readonly #unlock: () => void;
  #rejects: ArchiveRejects | null = null;
  readonly #schemas = new Map<string, ManifestWriterSchema>();
  /** As the save found it. */
  readonly manifest: ArchiveManifest;

  private constructor(
    options: GrowingArchiveOptions,
    unlock: () => void,
    manifest: ArchiveManifest,
    known: Record<TopicName, KnownPartition[]>,
  ) {
    const { dir, prefix } = options;
    super({ dir, prefix, known });
    this.#options = options;
    this.#unlock = unlock;
    this.manifest = manifest;
    for (const schema of manifest.schemas) this.#schemas.set(nameOf(schema), schema);
  }

  /**
   * Opens an archive, or a new folder, to add records. Compares the files with the manifest. Nothing is changed before
   * `begin`. Throws ArchiveError that names a file that differs, or for an archive without a manifest. Also throws if
   * another process writes the archive.
   */
  static async open(options: GrowingArchiveOptions): Promise<GrowingArchive> {
    const { dir, prefix } = options;
    makeFolder(dir, 'the archive');
    refuseLinks(dir);
    const unlock = lockArchive(dir, 'archive save');
    try {
      finishForgetting(dir);
      const said = readManifest(dir);
      const checked = { dir, prefix, command: 'archive save', signal: options.signal };
      const fix = 'Nothing was saved: put it back from a copy, or save to an empty folder';
      if (said) await assertAsSaved(checked, 'go on with', fix);
      const manifest = said ?? newManifest(dir, prefix);
      return new GrowingArchive(options, unlock, manifest, await partitionsIn(options, manifest));
    } catch (error) {
      unlock();
      throw error;
    }
  }

  /** The number of a topic's partitions. Null if the archive does not have the topic. */
  partitions(topic: TopicName): number | null {
    return this.manifest.topics[topic]?.partitions.length ?? null;
  }

  override append(topic: TopicName, record: ArchiveRecord): void {
    if (record.rawValue) this.#noteSchema(record.rawValue);
    super.append(topic, record);
  }

  /** Cuts off what a save that was killed wrote after the manifest, and writes the first manifest. */
  begin(partitions: Record<TopicName, number>, state: SavedState): void {
    const { dir, prefix } = this.#options;
    cutOff(archiveFolder(dir, prefix, 'rejected'), this.manifest.rejected);
    for (const topic of topicNames) {
      const files = this.manifest.topics[topic]?.partitions.flatMap((partition) => partition.files) ?? [];
      cutOff(archiveFolder(dir, prefix, topic), files);
    }
    this.checkpoint(partitions, state);
  }

  /** Adds bad records, each once. Returns the number of new ones. */
  reject(rejects: readonly Reject[]): number {
    this.#rejects ??= new ArchiveRejects(this.#options, this.manifest);
    return this.#rejects.add(rejects);
  }

  /** Makes everything durable, and then writes the manifest. `partitions`: the topics' numbers of partitions. */
  checkpoint(partitions: Record<TopicName, number>, state: SavedState): void {
    const { dir } = this.#options;
    const { simulated: _, ...before } = this.manifest;
    const topics = this.manifestTopics(partitions);
    const rejected = this.#rejects?.entries() ?? before.rejected;
    writeManifest(dir, { ...before, ...state, topics, rejected, schemas: [...this.#schemas.values()] });
  }

  /** Closes the files and unlocks the archive. */
  override async close(): Promise<void> {
    try {
      await super.close();
      this.#rejects?.close();
    } finally {
      this.#unlock();
    }
  }

  #noteSchema(value: Buffer): void {
    const schema = this.#options.schemaOf(value);
    if (!schema) return;
    const name = nameOf(schema);
    const known = this.#schemas.get(name);
    if (known && known.fingerprint !== schema.fingerprint)
      throw new ArchiveError(
        `Cannot save to the archive: schema id ${schema.id} is another schema in it than in the registry; save to an empty folder`,
      );
    this.#schemas.set(name, schema);
  }
}

const nameOf = ({ id, fingerprint }: ManifestWriterSchema): string => (id === null ? fingerprint : String(id));

/** Throws ArchiveError for an archive without a manifest: nothing says how far it goes. */
function newManifest(dir: string, prefix: string): ArchiveManifest {
  const topic = topicNames.find((one) => existsSync(archiveFolder(dir, prefix, one)));
  if (topic === undefined) return emptyManifest(prefix);
  throw new ArchiveError(
    `Cannot save to the archive: ${dir} holds ${prefix}${topic}, but no ${manifestName}; save to an empty folder`,
  );
}

/** Leaves of a folder's files what the manifest lists. */
function cutOff(folder: string, said: readonly ManifestFile[]): void {
  const bytesOf = new Map(said.map(({ name, bytes }) => [name, bytes]));
  for (const name of archiveFileNames(folder) ?? []) {
    const bytes = bytesOf.get(name);
    if (bytes === undefined) rmSync(join(folder, name));
    else truncateSync(join(folder, name), bytes);
  }
}

/** What an archive has, as its manifest says. A hash by another schema cannot be gone on with: the records are read. */
async function partitionsIn(
  { dir, prefix, signal }: GrowingArchiveOptions,
  manifest: ArchiveManifest,
): Promise<Record<TopicName, KnownPartition[]>> {
  const known = byTopic((): KnownPartition[] => []);
  for (const topic of topicNames) {
    const { hash_schema, partitions = [] } = manifest.topics[topic] ?? {};
    const isRead = partitions.length > 0 && hash_schema !== hashSchemaOf(topic);
    const files = isRead ? listArchive(dir, prefix, 'archive save')[topic] : null;
    for (const [partition, said] of partitions.entries()) {
      const reading = { signal, end: (said.last_offset ?? -1) + 1 };
      const ledger = files
        ? await readLedger({ topic, partition }, files[partition] ?? [], reading)
        : PartitionLedger.of(topic, said);
      ledger.nextOffset = said.next_offset;
      known[topic].push({ ledger, files: said.files });
    }
  }
  return known;
}
