import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { topicNames } from '../../../schemas/events/records.ts';

/**
 * Warns of topics that an archive has no folder for. A topic without records needs no folder. But if it was forgotten
 * when the archive was copied, every answer would silently lack its records.
 */
export function warnOfMissingTopics(dir: string, prefix: string, log: { warn(message: string): void }): void {
  const folders = topicNames.map((topic) => prefix + topic);
  const missing = folders.filter((folder) => !existsSync(join(dir, folder)));
  // With no topic at all it is no archive, which the reader reports.
  if (missing.length === 0 || missing.length === folders.length) return;
  log.warn(`The archive ${dir} has no folder ${missing.join(', ')}: it is read as if these topics were empty`);
}
