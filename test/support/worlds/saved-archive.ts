import { readFileSync, statSync } from 'node:fs';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { archiveEventLog } from '../../../infra/archive/log/archive-event-log.ts';
import type { EventLog, Reject } from '../../../projector/ports/event-log.ts';
import { archiveSave, type SaveOptions } from '../../../services/archive/save-log.ts';
import { TestArchive } from './archive.ts';
import { rider } from './records.ts';

/** A log, as an archive that grows, and what was saved of it. */
export class SavedArchive implements AsyncDisposable {
  /** Which log it says it is. */
  identity: string | null = 'a log';
  readonly source: TestArchive;
  readonly archive: TestArchive;

  private constructor(source: TestArchive, archive: TestArchive) {
    this.source = source;
    this.archive = archive;
  }

  /** With two partitions each, and riders in both. */
  static async make(): Promise<SavedArchive> {
    const source = await TestArchive.make(2);
    // Each in a block, and so a batch, of its own.
    for (const [i, key] of ['a', 'b', 'c'].entries()) await source.append('riders', 0, [rider(key, 1_000 + i)]);
    await source.append('riders', 1, [rider('d')]);
    return new SavedArchive(source, await TestArchive.make());
  }

  static async saved(rejects: Reject[] = []): Promise<SavedArchive> {
    const made = await SavedArchive.make();
    await made.save({}, rejects);
    return made;
  }

  get dir(): string {
    return this.archive.dir;
  }

  log(): EventLog {
    const log = archiveEventLog({ dir: this.source.dir });
    return { ...log, ...(this.identity !== null && { identity: async () => this.identity! }) };
  }

  async save(options: Partial<SaveOptions> = {}, rejects: Reject[] = []) {
    const log = this.log();
    try {
      const { signal } = new AbortController();
      return await archiveSave(log, (onRejects) => onRejects(rejects), this.dir, { signal, ...options });
    } finally {
      await log.close();
    }
  }

  manifest() {
    return readManifest(this.dir)!;
  }

  /** Every file with its bytes, to see that nothing changed. */
  async bytes(): Promise<Map<string, string>> {
    const files = [...(await this.archive.files('riders')), `${this.dir}/manifest.json`];
    return new Map(files.map((file) => [file, readFileSync(file, 'latin1')]));
  }

  async flip(file: string, at = statSync(file).size >> 1): Promise<void> {
    await this.archive.edit(file, (bytes) => {
      bytes[at]! ^= 0x10;
      return bytes;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.source.close();
    await this.archive.close();
  }
}
