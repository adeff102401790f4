import { rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { placeOf } from '../../reject-places.ts';
import { assertAsSaved, moreThanSaid } from '../checking/check-archive.ts';
import { readLedger } from '../checking/partition-inspection.ts';
import { OpenArchiveFile } from '../format/archive-file.ts';
import {
  ArchiveError,
  type ArchiveFile,
  type ArchiveListing,
  archiveFolder,
  listArchive,
  pathWithin,
} from '../format/archive-files.ts';
import { finishForgetting, replaceFiles, replacementPath } from '../format/archive-journal.ts';
import { lockArchive } from '../format/archive-lock.ts';
import {
  type ArchiveManifest,
  type ManifestFile,
  type ManifestPartition,
  manifestName,
  manifestText,
  readManifest,
} from '../format/archive-manifest.ts';
import { createRejected, encodeReject, rejectedFiles, rejectsIn } from '../format/archive-rejects.ts';
import { ContainerWriter } from '../format/container-writer.ts';
import { hashSchemaOf } from '../format/partition-ledger.ts';
import { type ForgottenPart, isRejectOfRider, recordForgetter } from './forget-record.ts';

interface ForgetOptions {
  dir: string;
  /** The prefix of the archive's folders. */
  prefix: string;
  rider: string;
  signal: AbortSignal;
  onProgress?: (progress: { done: number; total: number }) => void;
}

export interface Forgotten {
  /** Whole records, by topic. */
  records: Partial<Record<TopicName, number>>;
  /** Rides' records in which the rider was a leader. */
  leaders: number;
  rejected: number;
  /** Records with a header that named the rider. */
  headers: number;
  /** Values as they came that were removed. What our schema holds of them stays. */
  raw: number;
  /** The rider was the example in the manifest of an archive that `simulate` made. */
  example: boolean;
  files: number;
}

/**
 * Removes a rider from an archive (docs/rules.md#archive-forget): their records, their place among leaders, and bad
 * records about them. All files change atomically, even if the process is killed. Other records stay value for value.
 * Throws MissingTopicsError, ArchiveError that names a file that differs from the manifest, and the signal's reason.
 * Also throws if another process writes the archive.
 */
export async function forgetRider(options: ForgetOptions): Promise<Forgotten> {
  const { dir, prefix } = options;
  listArchive(dir, prefix, 'archive forget');
  const unlock = lockArchive(dir, 'archive forget');
  try {
    finishForgetting(dir);
    return await new Forgetting(options).run();
  } finally {
    try {
      // After a failure, the new files written beside the old ones are removed.
      finishForgetting(dir);
    } finally {
      unlock();
    }
  }
}

class Forgetting {
  readonly #options: ForgetOptions;
  readonly #manifest: ArchiveManifest | null;
  /** The manifest's entries of the files that are written anew, by path. */
  readonly #anew = new Map<string, ManifestFile>();
  /** Places of removed bad records. */
  readonly #forgottenRejects: string[] = [];
  readonly #result: Forgotten = { records: {}, leaders: 0, rejected: 0, headers: 0, raw: 0, example: false, files: 0 };
  #done = 0;
  #total = 0;

  constructor(options: ForgetOptions) {
    this.#options = options;
    this.#manifest = readManifest(options.dir);
  }

  async run(): Promise<Forgotten> {
    const { dir, prefix, rider, signal } = this.#options;
    if (this.#manifest) await this.#assertAsSaved();
    const listing = listArchive(dir, prefix, 'archive forget');
    const files = topicNames.flatMap((topic) => listing[topic].flat());
    this.#total = files.reduce((sum, { path }) => sum + statSync(path).size, 0);
    for (const topic of topicNames) {
      for (const file of listing[topic].flat()) await this.#forgetFile(topic, file);
    }
    for (const path of rejectedFiles(archiveFolder(dir, prefix, 'rejected'))) this.#forgetRejected(path);
    signal.throwIfAborted();
    this.#result.example = this.#manifest?.simulated?.rider === rider;
    if (this.#anew.size === 0 && !this.#result.example) return this.#result;
    replaceFiles(dir, this.#manifest ? manifestText(await this.#manifestOf(listing, this.#manifest)) : '');
    return { ...this.#result, files: this.#anew.size };
  }

  /** Throws ArchiveError for an archive that is not as its manifest says, or holds more. */
  async #assertAsSaved(): Promise<void> {
    const { dir, prefix, signal } = this.#options;
    const checked = { dir, prefix, command: 'archive forget', signal };
    const open = await assertAsSaved(checked, 'go on with', 'Nothing was changed: put it back from a copy');
    const more = open.find(({ problem }) => problem === moreThanSaid);
    if (!more) return;
    throw new ArchiveError(
      `Cannot go on with the archive ${dir}: ${more.file} has more than the manifest says: a save was killed. Nothing was changed: call archive save first, or remove ${manifestName} to have the archive taken as it is`,
    );
  }

  async #manifestOf(listing: ArchiveListing, manifest: ArchiveManifest): Promise<ArchiveManifest> {
    const { dir, prefix } = this.#options;
    const topics: ArchiveManifest['topics'] = {};
    for (const topic of topicNames) {
      const said = manifest.topics[topic]!;
      const partitions: ManifestPartition[] = [];
      for (const partition of said.partitions) {
        const files = listing[topic][partition.partition] ?? [];
        const isSame = said.hash_schema === hashSchemaOf(topic) && !files.some(({ path }) => this.#anew.has(path));
        partitions.push(isSame ? partition : await this.#partitionOf(topic, files, partition));
      }
      topics[topic] = { hash_schema: hashSchemaOf(topic), partitions };
    }
    const folder = archiveFolder(dir, prefix, 'rejected');
    const rejected = manifest.rejected.map((file) => this.#anew.get(pathWithin(folder, file.name)) ?? file);
    const forgotten_rejects = [...manifest.forgotten_rejects, ...this.#forgottenRejects];
    const now = { ...manifest, topics, rejected, forgotten_rejects };
    return this.#result.example ? { ...now, simulated: { ...now.simulated!, rider: null } } : now;
  }

  /** What the manifest will say of a partition. */
  async #partitionOf(
    topic: TopicName,
    files: readonly ArchiveFile[],
    { partition, next_offset, files: said }: ManifestPartition,
  ): Promise<ManifestPartition> {
    const { dir, prefix, signal } = this.#options;
    const now = files.map((file) => (this.#anew.has(file.path) ? { ...file, path: replacementPath(file.path) } : file));
    const ledger = await readLedger({ topic, partition }, now, { signal });
    // A later save must not bring back the last record.
    ledger.nextOffset = next_offset;
    const folder = archiveFolder(dir, prefix, topic);
    return {
      partition,
      ...ledger.summary(),
      files: said.map((file) => this.#anew.get(pathWithin(folder, file.name)) ?? file),
    };
  }

  /** Writes a file without the rider beside the old one, if it mentions the rider. */
  async #forgetFile(topic: TopicName, file: ArchiveFile): Promise<void> {
    const open = OpenArchiveFile.open(topic, file);
    if (!open) return;
    const { schemaText, codec } = open.header;
    const forget = recordForgetter(this.#options.rider, schemaText);
    const writer = ContainerWriter.create(replacementPath(file.path), schemaText, codec);
    let isChanged = false;
    try {
      for (const { count, data } of open.blocks()) {
        await setImmediate();
        this.#options.signal.throwIfAborted();
        let pos = 0;
        for (const record of open.decoder.records(data, count)) {
          const { end, bytes, parts } = forget(decoded(record), data, pos);
          pos = end;
          if (bytes) writer.append(bytes);
          this.#count(topic, parts);
          isChanged ||= parts.size > 0;
        }
      }
    } finally {
      writer.close();
      this.#done += open.pos;
      this.#options.onProgress?.({ done: this.#done, total: this.#total });
      open.close();
    }
    if (isChanged) this.#replaced(file.path, writer);
    else rmSync(writer.path);
  }

  #count(topic: TopicName, parts: ReadonlySet<ForgottenPart>): void {
    const { records } = this.#result;
    for (const part of parts) {
      if (part === 'record') records[topic] = (records[topic] ?? 0) + 1;
      else this.#result[part]++;
    }
  }

  /** Writes a file of bad records without those about the rider, if there are any. */
  #forgetRejected(path: string): void {
    const { rider, prefix } = this.#options;
    const rejects = [...rejectsIn(path, prefix)];
    const gone = new Set(rejects.filter((reject) => isRejectOfRider(reject, rider)));
    if (gone.size === 0) return;
    this.#result.rejected += gone.size;
    for (const reject of gone) this.#forgottenRejects.push(placeOf(reject));
    const writer = createRejected(replacementPath(path));
    for (const reject of rejects) if (!gone.has(reject)) writer.append(encodeReject(reject));
    writer.close();
    this.#replaced(path, writer);
  }

  #replaced(path: string, writer: ContainerWriter): void {
    this.#anew.set(path, { ...writer.entry(), name: basename(path) });
  }
}
