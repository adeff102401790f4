import { rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { placeOf } from '../../reject-places.ts';
import { inspectArchive } from '../checking/inspect-archive.ts';
import { inspectPartition, type KnownPartition, notAsSaved } from '../checking/partition-inspection.ts';
import { OpenArchiveFile } from '../format/archive-file.ts';
import { type ArchiveFile, archiveFolder, listArchive } from '../format/archive-files.ts';
import { finishForgetting, replaceFiles, replacementPath } from '../format/archive-journal.ts';
import { lockArchive } from '../format/archive-lock.ts';
import {
  type ArchiveManifest,
  emptyManifest,
  type ManifestFile,
  manifestText,
  readManifest,
} from '../format/archive-manifest.ts';
import { rejectedBlocks, rejectedEntry, rejectedFiles } from '../format/archive-reject-sink.ts';
import { containerSummary } from '../format/avro-container.ts';
import { ContainerWriter } from '../format/container-writer.ts';
import { hashSchemaOf } from '../format/partition-ledger.ts';
import { type ForgottenPart, isRejectOfRider, RecordForgetter } from './forget-record.ts';

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

type ManifestTopic = ArchiveManifest['topics'][string];

const fix = 'Nothing was changed: put it back from a copy';

/**
 * Removes a rider from an archive (docs/rules.md#archive-forget): their records, their place among leaders, and bad
 * records about them. All files change atomically, even if the process is killed. Other records stay value for value.
 * Throws MissingTopicsError, ArchiveError that names a file that differs from the manifest, and the signal's reason.
 * Also throws if another process writes the archive.
 */
export async function forgetRider(options: ForgetOptions): Promise<Forgotten> {
  const { dir, prefix } = options;
  await listArchive(dir, prefix, 'archive forget');
  const unlock = lockArchive(dir, 'archive forget');
  try {
    finishForgetting(dir, prefix);
    return await new Forgetting(options).run();
  } finally {
    try {
      // After a failure, the new files written beside the old ones are removed.
      finishForgetting(dir, prefix);
    } finally {
      unlock();
    }
  }
}

class Forgetting {
  readonly #options: ForgetOptions;
  readonly #manifest: ArchiveManifest | null;
  readonly #changed: string[] = [];
  /** Places of removed bad records. */
  readonly #forgottenRejects: string[] = [];
  readonly #result = {
    records: {} as Forgotten['records'],
    leaders: 0,
    rejected: 0,
    headers: 0,
    raw: 0,
    example: false,
    files: 0,
  };
  #done = 0;
  #total = 0;

  constructor(options: ForgetOptions) {
    this.#options = options;
    this.#manifest = readManifest(options.dir);
  }

  async run(): Promise<Forgotten> {
    const { dir, prefix, rider, signal } = this.#options;
    const manifest = this.#manifest;
    const found = await inspectArchive({ dir, prefix, manifest, read: 'uncovered', beingWritten: true, signal });
    if (found.problems.length > 0) throw notAsSaved(dir, found.problems, fix);
    const listing = await listArchive(dir, prefix, 'archive forget');
    const files = topicNames.flatMap((topic) => listing[topic].flat());
    this.#total = files.reduce((sum, { path }) => sum + statSync(path).size, 0);
    const topics: ArchiveManifest['topics'] = {};
    for (const topic of topicNames)
      topics[topic] = await this.#forgetTopic(topic, listing[topic], found.partitions[topic]);
    const rejected = rejectedFiles(archiveFolder(dir, prefix, 'rejected')).flatMap((path) =>
      this.#forgetRejected(path),
    );
    signal.throwIfAborted();
    const simulated = manifest?.simulated;
    const example = simulated?.rider === rider;
    if (this.#changed.length === 0 && !example) return this.#result;
    const now = { ...(manifest ?? emptyManifest(prefix)), topics, rejected };
    now.forgotten_rejects = [...now.forgotten_rejects, ...this.#forgottenRejects];
    if (example) now.simulated = { ...simulated, rider: null };
    replaceFiles(dir, prefix, this.#changed, manifestText(now));
    return { ...this.#result, example, files: this.#changed.length };
  }

  async #forgetTopic(topic: TopicName, files: ArchiveFile[][], known: KnownPartition[]): Promise<ManifestTopic> {
    const partitions: ManifestTopic['partitions'] = [];
    for (const [partition, had] of known.entries()) {
      const { ledger, files: entries } = await this.#forgetPartition(topic, partition, files[partition] ?? [], had);
      partitions.push({ partition, ...ledger.summary(), files: entries });
    }
    return { hash_schema: hashSchemaOf(topic), partitions };
  }

  async #forgetPartition(
    topic: TopicName,
    partition: number,
    files: readonly ArchiveFile[],
    known: KnownPartition,
  ): Promise<KnownPartition> {
    const now: ArchiveFile[] = [];
    for (const file of files) {
      const isChanged = await this.#forgetFile(topic, file);
      now.push(isChanged ? { ...file, path: replacementPath(file.path) } : file);
    }
    if (now.every(({ path }, i) => path === files[i]!.path)) return known;
    const { dir, prefix, signal } = this.#options;
    const place = { topic, partition, folder: archiveFolder(dir, prefix, topic), files: now };
    const reading = { read: 'uncovered', beingWritten: true, signal } as const;
    const again = await inspectPartition({ ...place, ...reading, said: null, sameHash: false });
    if (again.problems.length > 0) throw notAsSaved(dir, again.problems, fix);
    // A later save must not bring back the last record.
    again.ledger.nextOffset = known.ledger.nextOffset;
    return again;
  }

  /** Writes a file without the rider beside the old one. False if the file does not mention the rider. */
  async #forgetFile(topic: TopicName, file: ArchiveFile): Promise<boolean> {
    const open = OpenArchiveFile.open(topic, file);
    if (!open) return false;
    const { schemaText, codec } = open.header;
    const forgetter = new RecordForgetter(this.#options.rider, schemaText);
    const path = replacementPath(file.path);
    const writer = ContainerWriter.create(path, schemaText, codec);
    let isChanged = false;
    try {
      for (let block = open.nextBlock(); block; block = open.nextBlock()) {
        await setImmediate();
        this.#options.signal.throwIfAborted();
        const kept: Buffer[] = [];
        let pos = 0;
        for (const record of open.decoder.records(block.data, block.count)) {
          const { end, bytes, parts } = forgetter.forget(decoded(record), block.data, pos);
          pos = end;
          if (bytes) kept.push(bytes);
          this.#count(topic, parts);
          isChanged ||= parts.size > 0;
        }
        if (kept.length > 0) writer.appendBlock(kept.length, Buffer.concat(kept));
      }
    } finally {
      writer.close();
      this.#done += open.pos;
      this.#options.onProgress?.({ done: this.#done, total: this.#total });
      open.close();
    }
    if (isChanged) this.#changed.push(file.path);
    else rmSync(path);
    return isChanged;
  }

  #count(topic: TopicName, parts: ReadonlySet<ForgottenPart>): void {
    const { records } = this.#result;
    for (const part of parts) {
      if (part === 'record') records[topic] = (records[topic] ?? 0) + 1;
      else this.#result[part]++;
    }
  }

  /** The manifest's entry of a file of bad records, without those about the rider. */
  #forgetRejected(path: string): ManifestFile[] {
    const { rider, prefix } = this.#options;
    const header = containerSummary(path)?.header;
    if (!header) return [];
    const blocks = [...rejectedBlocks(path, prefix)];
    const gone = new Set(blocks.flat().filter(({ reject }) => isRejectOfRider(reject, rider)));
    if (gone.size === 0) return [rejectedEntry(path)!];
    this.#result.rejected += gone.size;
    for (const { reject } of gone) this.#forgottenRejects.push(placeOf(reject));
    const kept = blocks.map((block) => block.filter((one) => !gone.has(one)).map(({ bytes }) => bytes));
    const writer = ContainerWriter.create(replacementPath(path), header.schemaText, header.codec);
    for (const block of kept) if (block.length > 0) writer.appendBlock(block.length, Buffer.concat(block));
    writer.close();
    this.#changed.push(path);
    return [{ ...rejectedEntry(replacementPath(path))!, name: basename(path) }];
  }
}
