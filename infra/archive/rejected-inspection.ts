import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ArchiveError, archiveFolder } from './archive-files.ts';
import type { ArchiveManifest, ManifestFile } from './archive-manifest.ts';
import { readRejectedFile, rejectedFiles } from './archive-rejected.ts';
import { readContainer } from './container-content.ts';
import { type ArchiveProblem, type OnProblem, type PartitionToInspect, sha256Of } from './partition-inspection.ts';

export interface RejectedToInspect extends Pick<PartitionToInspect, 'read' | 'beingWritten' | 'signal' | 'onBytes'> {
  dir: string;
  prefix: string;
  manifest: ArchiveManifest | null;
}

/**
 * Files of bad records may have more than the manifest says: a service that reads the archive also sets bad records
 * aside in it.
 */
export async function inspectRejected(options: RejectedToInspect, onProblem: OnProblem): Promise<number> {
  const { dir, prefix, manifest } = options;
  const folder = archiveFolder(dir, prefix, 'rejected');
  const paths = rejectedFiles(folder);
  const bad = new Set<string>();
  for (const said of manifest?.rejected ?? []) {
    const path = join(folder, said.name);
    const problem = await compareRejected(path, paths.includes(path), said, options);
    if (!problem) continue;
    bad.add(path);
    onProblem(problem);
  }
  let count = 0;
  for (const path of options.read === 'none' ? [] : paths) {
    try {
      for (const _ of readRejectedFile(path, prefix)) count++;
      const content = readContainer(path);
      if ((content && content.restBytes === 0) || options.beingWritten || options.read !== 'all' || bad.has(path))
        continue;
      onProblem({ file: path, kind: 'cut', problem: 'it ends within a block' });
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      if (!bad.has(path)) onProblem({ file: path, kind: 'altered', problem: error.message });
    }
  }
  return count;
}

async function compareRejected(
  file: string,
  isThere: boolean,
  said: ManifestFile,
  options: Pick<PartitionToInspect, 'signal' | 'onBytes'>,
): Promise<ArchiveProblem | null> {
  if (!isThere) return { file, kind: 'missing', problem: `it is not there; the manifest says ${said.records} records` };
  const { size } = statSync(file);
  if (size < said.bytes) {
    return { file, kind: 'cut', problem: `it has ${size} bytes, and the manifest says ${said.bytes}` };
  }
  if ((await sha256Of(file, said.bytes, options)) === said.sha256) return null;
  return { file, kind: 'altered', problem: 'its bytes are not those that were saved' };
}

/** The manifest's entry of a file of bad records, as it is now. Null if it ends within its header. */
export function rejectedEntry(path: string): ManifestFile | null {
  const content = readContainer(path);
  if (!content) return null;
  const records = content.blocks.reduce((sum, { count }) => sum + count, 0);
  return { name: basename(path), records, bytes: content.end, sha256: content.sha256().digest('hex') };
}
