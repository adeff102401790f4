import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { viewFormat } from '../../../schemas/views/view-keys.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The next version's view format. */
export const nextFormat = viewFormat + 1;

/** The sources as a next version might be: another number of the view format, and other stored bytes under it. */
export async function nextVersion(folder: string): Promise<string> {
  for (const part of ['api', 'infra', 'projector', 'schemas', 'services', 'package.json']) {
    await cp(join(root, part), join(folder, part), { recursive: true });
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await edit(folder, 'schemas/views/view-keys.ts', `viewFormat = ${viewFormat};`, `viewFormat = ${nextFormat};`);
  await edit(
    folder,
    'schemas/views/view-values.ts',
    'JSON.stringify(header)',
    'JSON.stringify({ ...header, next: 1 })',
  );
  return folder;
}

async function edit(folder: string, path: string, old: string, by: string): Promise<void> {
  const text = await readFile(join(folder, path), 'utf8');
  if (!text.includes(old)) throw new Error(`${path} has no ${old}`);
  await writeFile(join(folder, path), text.replace(old, by));
}
