import { existsSync, statSync } from 'node:fs';
import type { Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { inspectArchive } from '../checking/inspect-archive.ts';
import { type KnownPartition, notAsSaved } from '../checking/partition-inspection.ts';
import { ArchiveError, archiveFolder, refuseLinks } from '../format/archive-files.ts';
import { finishForgetting } from '../format/archive-journal.ts';
import { lockArchive } from '../format/archive-lock.ts';
import {
  type ArchiveManifest,
  type ManifestFile,
  type ManifestWriterSchema,
  readManifest,
  writeManifest,
} from '../format/archive-manifest.ts';
import { archiveRejectSink, rejectedEntry, rejectedFiles } from '../format/archive-reject-sink.ts';
import { makeFolder } from '../format/make-folder.ts';
import { type ArchiveRecord, PartitionLedger } from '../format/partition-ledger.ts';
import { ArchiveWriter } from './archive-writer.ts';

interface GrowingArchiveOptions {
  dir: string;
  prefix: string;
  /** The writer's schema of a value that is kept as it came. Null if it is not known. */
  schemaOf: (value: Buffer) => ManifestWriterSchema | null;
  signal: AbortSignal;
}

type KnownPartitions = Record<TopicName, KnownPartition[]>;

/** A partition that is not known yet begins empty. */
function knownIn(partitions: KnownPartitions, topic: TopicName, partition: number): KnownPartition {
  partitions[topic][partition] ??= { ledger: new PartitionLedger(topic), files: [] };
  return partitions[topic][partition];
}

/** What a save knows about an archive beyond its contents. */
export type SavedState = Pick<ArchiveManifest, 'log' | 'exact_since' | 'saved_until'>;

/** An archive that records are added to, with its manifest. One writer at a time (docs/rules.md#archive-save). */
export class GrowingArchive extends ArchiveWriter {
  readonly #options: GrowingArchiveOptions;
  readonly #unlock: () => void;
  readonly #partitions: KnownPartitions;
  readonly #rejects: RejectSink;
  readonly #schemas = new Map<string, ManifestWriterSchema>();
  readonly #rejectedEntries = new Map<string, ManifestFile>();
  /** Null if the archive had none. */
  readonly manifest: ArchiveManifest | null;

  private constructor(
    options: GrowingArchiveOptions,
    unlock: () => void,
    manifest: ArchiveManifest | null,
    partitions: KnownPartitions,
  ) {
    const { dir, prefix } = options;
    super({ dir, prefix, known: (topic, i) => knownIn(partitions, topic, i) });
    this.#options = options;
    this.#unlock = unlock;
    this.manifest = manifest;
    this.#partitions = partitions;
    for (const schema of manifest?.schemas ?? []) this.#schemas.set(nameOf(schema), schema);
    this.#rejects = archiveRejectSink({ dir, prefix }, manifest?.forgotten_rejects);
  }

  /**
   * Opens an archive, or a new folder, to add records. Compares the contents with the manifest, or reads them if there
   * is none. Throws ArchiveError that names a file that differs from the manifest. Also throws if another process
   * writes the archive.
   */
  static async open(options: GrowingArchiveOptions): Promise<GrowingArchive> {
    const { dir, prefix } = options;
    makeFolder(dir, 'the archive');
    refuseLinks(dir);
    const unlock = lockArchive(dir, 'archive save');
    try {
      finishForgetting(dir, prefix);
      const manifest = readManifest(dir);
      return new GrowingArchive(options, unlock, manifest, await partitionsIn(options, manifest));
    } catch (error) {
      unlock();
      throw error;
    }
  }

  /** The number of a topic's partitions. Null if the archive does not have the topic. */
  partitions(topic: TopicName): number | null {
    if (this.manifest) return this.manifest.topics[topic]?.partitions.length ?? null;
    const partitions = this.#partitions[topic];
    return partitions.some(({ files }) => files.length > 0) ? partitions.length : null;
  }

  /** What a partition contains so far. */
  ledger(topic: TopicName, partition: number): PartitionLedger {
    return knownIn(this.#partitions, topic, partition).ledger;
  }

  override append(topic: TopicName, record: ArchiveRecord): void {
    if (record.rawValue) this.#noteSchema(record.rawValue);
    super.append(topic, record);
  }

  /** Adds bad records, each once. Resolves to the number of new ones. */
  reject(rejects: Reject[]): Promise<number> {
    return this.#rejects.publish(rejects);
  }

  /** Makes everything durable, and then writes the manifest. `partitions`: the topics' numbers of partitions. */
  checkpoint(partitions: Record<TopicName, number>, state: SavedState): void {
    const { dir, prefix } = this.#options;
    const topics = this.manifestTopics(partitions);
    writeManifest(dir, {
      version: 1,
      prefix,
      ...state,
      topics,
      rejected: this.#rejectedFiles(),
      forgotten_rejects: this.manifest?.forgotten_rejects ?? [],
      schemas: [...this.#schemas.values()],
    });
  }

  /** Closes the files and unlocks the archive. */
  override async close(): Promise<void> {
    try {
      await super.close();
      await this.#rejects.close();
    } finally {
      this.#unlock();
    }
  }

  #noteSchema(value: Buffer): void {
    const schema = this.#options.schemaOf(value);
    if (!schema) return;
    const name = nameOf(schema);
    const known = this.#schemas.get(name);
    if (known && known.fingerprint !== schema.fingerprint) {
      throw new ArchiveError(
        `Cannot save to the archive: schema id ${schema.id} is another schema in it than in the registry; save to an empty folder`,
      );
    }
    this.#schemas.set(name, schema);
  }

  #rejectedFiles(): ManifestFile[] {
    const { dir, prefix } = this.#options;
    return rejectedFiles(archiveFolder(dir, prefix, 'rejected')).flatMap((path) => {
      const known = this.#rejectedEntries.get(path);
      if (known && statSync(path).size === known.bytes) return [known];
      const entry = rejectedEntry(path);
      if (entry) this.#rejectedEntries.set(path, entry);
      return entry ? [entry] : [];
    });
  }
}

const nameOf = ({ id, fingerprint }: ManifestWriterSchema): string => (id === null ? fingerprint : String(id));

/** What an archive has. Throws ArchiveError if it differs from its manifest. */
async function partitionsIn(
  { dir, prefix, signal }: GrowingArchiveOptions,
  manifest: ArchiveManifest | null,
): Promise<KnownPartitions> {
  if (!manifest && topicNames.every((topic) => !existsSync(archiveFolder(dir, prefix, topic)))) {
    return Object.fromEntries(topicNames.map((topic) => [topic, [] as KnownPartition[]])) as KnownPartitions;
  }
  const found = await inspectArchive({ dir, prefix, manifest, read: 'uncovered', beingWritten: true, signal });
  if (found.problems.length === 0) return found.partitions;
  const fix = 'Nothing was saved: put it back from a copy, or save to an empty folder';
  throw notAsSaved(dir, found.problems, fix);
}
