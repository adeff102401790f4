import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { topicNames } from '../../schemas/events/records.ts';

/**
 * Warns of topics that an archive has no folder for. That is allowed, since a topic without records needs none; but
 * where the copying of one was forgotten, every answer would quietly lack what it holds.
 */
export function sayMissingTopics(dir: string, prefix: string, log: { warn(message: string): void }): void {
  const folders = topicNames.map((topic) => prefix + topic);
  const missing = folders.filter((folder) => !existsSync(join(dir, folder)));
  // Without any it is no archive: whoever reads it says so.
  if (missing.length === 0 || missing.length === folders.length) return;
  log.warn(`The archive ${dir} has no folder ${missing.join(', ')}: it is read as if these topics were empty`);
}
