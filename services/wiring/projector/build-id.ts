import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Which build this is, as far as views go: a hash of the code that folds and renders. Another build may render the same
 * facts otherwise, so that a leader of one checks what a leader of another has written.
 */
export function buildId(): string {
  const hash = createHash('sha256');
  for (const folder of ['projector', 'schemas']) {
    const root = join(import.meta.dirname, '../../..', folder);
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(ts|js|avsc)$/.test(name),
    );
    for (const name of files.sort()) hash.update(name).update(readFileSync(join(root, name)));
  }
  return hash.digest('base64url').slice(0, 12);
}
