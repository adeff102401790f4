import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { viewFormat } from '../../../schemas/views/view-keys.ts';
import { root } from './process.ts';

/** The next version's view format. */
export const nextFormat = viewFormat + 1;

/** The sources as a next version might be: another number of the view format, and other stored bytes under it. */
export async function nextVersion(folder: string): Promise<string> {
  await copyTo(folder);
  for (const [file, old, by] of [
    ['view-keys.ts', `viewFormat = ${viewFormat};`, `viewFormat = ${nextFormat};`],
    ['view-values.ts', 'JSON.stringify(header)', 'JSON.stringify({ ...header, next: 1 })'],
  ] as const) {
    const path = join(folder, 'schemas/views', file);
    const text = await readFile(path, 'utf8');
    if (!text.includes(old)) throw new Error(`${file} has no ${old}`);
    await writeFile(path, text.replace(old, by));
  }
  return folder;
}

/** The sources as a release whose nights have one more field might be. It knows the schema of before as well. */
export async function withNewerNights(folder: string, schema: string): Promise<string> {
  await copyTo(folder);
  await cp(join(folder, 'schemas/events/nights.avsc'), join(folder, 'schemas/events/nights.before.avsc'));
  await writeFile(join(folder, 'schemas/events/nights.avsc'), schema);
  return folder;
}

async function copyTo(folder: string): Promise<void> {
  for (const part of ['api', 'docs', 'infra', 'projector', 'schemas', 'services', 'package.json']) {
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
}
