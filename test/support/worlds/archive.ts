import { createWriteStream, existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import avro, { type Schema } from 'avsc';
import { readLedger } from '../../../infra/archive/checking/partition-inspection.ts';
import { type ArchiveFile, listArchive } from '../../../infra/archive/format/archive-files.ts';
import { ArchiveRejects, archiveRejected } from '../../../infra/archive/format/archive-rejects.ts';
import { ContainerFile, openContainer } from '../../../infra/archive/format/avro-container.ts';
import type { ArchiveRecord, KnownPartition } from '../../../infra/archive/format/partition-ledger.ts';
import { type ArchiveEventLogOptions, archiveEventLog } from '../../../infra/archive/log/archive-event-log.ts';
import { ArchiveWriter, type ArchiveWriterOptions } from '../../../infra/archive/saving/archive-writer.ts';
import { followToEnds } from '../../../projector/intake/follow-to-ends.ts';
import { decoded, type LogRecord, type UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import type { LogBatch, Reject } from '../../../projector/ports/event-log.ts';
import { positionOf } from '../../../projector/position/position.ts';
import { archivedSchemas } from '../../../schemas/avro/avro-types.ts';
import { byTopic, defaultTopicPrefix, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { runArchiveCheck } from '../../../services/archive/archive-check.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import type { EventLogFixture } from '../../contracts/event-log.ts';
import { heard } from '../processes/heard.ts';
import { sampleRecords } from './records.ts';

/** A record of any topic, perhaps with its place and time. */
type Placed = Pick<ArchiveRecord, 'key' | 'value'> & Partial<ArchiveRecord> & { topic: TopicName };
const smallFiles = { blockBytes: 2_000, fileBytes: 5_000 };

/** An archive in a folder of its own, and what tests do to it. */
export class TestArchive implements EventLogFixture, AsyncDisposable {
  readonly dir: string;
  readonly warnings: string[] = [];
  readonly #nextOffsets = new Map<string, number>();
  #partitions = 1;

  private constructor(dir: string) {
    this.dir = dir;
  }

  /** `partitions`: of each topic; without them there are no topics yet. */
  static async make(partitions?: number): Promise<TestArchive> {
    const archive = new TestArchive(await mkdtemp(join(tmpdir(), 'archive-')));
    if (partitions !== undefined) await archive.createTopics(partitions);
    return archive;
  }

  async createTopics(partitions: number): Promise<void> {
    this.#partitions = partitions;
    await this.write(
      [],
      {},
      byTopic(() => partitions),
    );
  }

  append(topic: TopicName, partition: number, records: Omit<Placed, 'topic' | 'partition'>[]): Promise<void> {
    return this.write(records.map((record) => ({ ...record, topic, partition })));
  }

  /** Records without a place are the next ones of partition 0. `partitions` are there, though they may be empty. */
  async write(
    records: readonly Placed[],
    how: Partial<ArchiveWriterOptions> = smallFiles,
    partitions = byTopic(() => 0),
  ) {
    const writer = await writerIn(this.dir, how);
    for (const topic of topicNames) for (let i = 0; i < partitions[topic]; i++) writer.addPartition(topic, i, 0);
    for (const { topic, partition = 0, offset = this.#take(topic, partition), ...record } of records)
      writer.append(topic, { timestampMs: 1_700_000_000_000, ...record, partition, offset });
    await writer.close();
  }

  /** Written by somebody whose `Distance` has one symbol more. */
  async appendUndecodable(topic: TopicName, partition: number, key: string): Promise<void> {
    const schema = JSON.parse(JSON.stringify(archivedSchemas[topic]).replace('"OVER_40"', '"OVER_40","OVER_100"'));
    const offset = this.#take(topic, partition);
    const value = { ...sampleRecords.rides, distance: 'OVER_100' };
    await this.writeFile(topic, partition, offset, schema, [{ partition, offset, timestamp: 5, key, value }]);
  }

  async skipOffsets(topic: TopicName, partition: number, count: number): Promise<void> {
    for (let i = 0; i < count; i++) this.#take(topic, partition);
  }

  /** The folder stays. */
  async removeFiles(topic: TopicName): Promise<void> {
    for (const file of await this.files(topic)) await rm(file);
  }

  async addPartition(topic: TopicName): Promise<void> {
    const writer = await writerIn(this.dir);
    writer.addPartition(topic, this.#partitions, 0);
    await writer.close();
  }

  async deleteBefore(topic: TopicName, partition: number, offset: number): Promise<void> {
    const { records } = await this.read();
    const kept = records.filter((one): one is LogRecord => one.topic === topic && one.partition === partition);
    await this.removeFiles(topic);
    await this.write(kept.filter((record) => record.offset >= offset));
  }

  open() {
    const log = { warn: (message: string) => void this.warnings.push(message) };
    return archiveEventLog({ dir: this.dir, log });
  }

  async close(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  folder(topic: string): string {
    return join(this.dir, `ride-calendar.${topic}`);
  }

  async files(topic: string): Promise<string[]> {
    return (await readdir(this.folder(topic))).sort().map((name) => join(this.folder(topic), name));
  }

  /** A container file that avsc writes, of any schema, in one block. */
  async writeFile(topic: TopicName, partition: number, firstOffset: number, schema: Schema, records: object[]) {
    const path = join(this.folder(topic), `${partition}-${String(firstOffset).padStart(20, '0')}.avro`);
    await writeContainer(path, schema, records);
    return path;
  }

  /** Changes a file's bytes. */
  async edit(path: string, change: (bytes: Buffer) => Buffer): Promise<void> {
    await writeFile(path, change(await readFile(path)));
  }

  /** Adds bad records, as a save does. */
  reject(rejects: readonly Reject[]): number {
    const sink = new ArchiveRejects(this.#place);
    const added = sink.add(rejects);
    sink.close();
    return added;
  }

  rejected(): Reject[] {
    return [...archiveRejected(this.#place)];
  }

  get #place() {
    return { dir: this.dir, prefix: defaultTopicPrefix };
  }

  /** All that is there, read to the ends as they are. */
  read() {
    return readArchive(this.dir);
  }

  #take(topic: TopicName, partition: number): number {
    const name = `${topic}/${partition}`;
    const offset = this.#nextOffsets.get(name) ?? 0;
    this.#nextOffsets.set(name, offset + 1);
    return offset;
  }
}

/** A writer that goes on with an archive. */
export async function writerIn(dir: string, how: Partial<ArchiveWriterOptions> = {}): Promise<ArchiveWriter> {
  const isNew = topicNames.every((topic) => !existsSync(join(dir, defaultTopicPrefix + topic)));
  const listing = isNew ? null : listArchive(dir, defaultTopicPrefix, 'a test');
  const known = {} as Record<TopicName, KnownPartition[]>;
  for (const topic of topicNames) known[topic] = await Promise.all((listing?.[topic] ?? []).map(knownIn(topic)));
  return new ArchiveWriter({ dir, ...how, known });
}

const knownIn = (topic: TopicName) => async (files: ArchiveFile[], partition: number) => ({
  ledger: await readLedger({ topic, partition }, files, { signal: new AbortController().signal }),
  files: files.map(({ path }) => {
    const file = new ContainerFile(openContainer(path)!);
    let records = 0;
    for (let block = file.nextBlock(); block; block = file.nextBlock()) records += block.count;
    file.close();
    return { name: basename(path), records, bytes: file.pos, sha256: '' };
  }),
});

/** A container file as avsc writes it. */
export async function writeContainer(path: string, schema: Schema, records: object[], codec = 'null'): Promise<void> {
  const options = { codec, wrapUnions: false, writeHeader: true };
  const encoder = new avro.streams.BlockEncoder(structuredClone(schema), options);
  for (const record of records) encoder.write(record);
  encoder.end();
  await pipeline(encoder, createWriteStream(path));
}

/** Reads an archive to its ends as they are. */
export async function readArchive(dir: string, options: Partial<ArchiveEventLogOptions> = {}) {
  const log = archiveEventLog({ dir, ...options });
  const bounds = await log.bounds();
  const records: (LogRecord | UndecodableRecord)[] = [];
  const onBatch = (batch: LogBatch) => void records.push(...batch.records.map(decoded));
  await followToEnds(log, positionOf(bounds, 'low'), bounds, new AbortController().signal, onBatch);
  await log.close();
  return { bounds, records };
}

/** What `archive check` says of an archive, and its exit code. */
export async function checkArchive(dir: string) {
  const { code, out } = await heard((io) => runArchiveCheck({ dir, json: true }, loadSettings({}), io));
  return { code, ...JSON.parse(out[0]!) };
}

/** A rider's record as an archive holds it. */
export const archivedRider = (offset: number, partition = 0) => ({
  partition,
  offset,
  timestamp: 1_700_000_000_123,
  key: `r${offset}`,
  value: { ...sampleRecords.riders, rider: `r${offset}` },
});
