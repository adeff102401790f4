import { hash, randomBytes } from 'node:crypto';
import type { ViewReader } from '../../../api/ports/view-reader.ts';
import { developerKeyKey } from '../../../schemas/views/view-kinds.ts';

/** A developer key of this process (docs/rules.md#picking-a-rider): a log holds only hashes of its own. */
export const ownKey = (): string => `rck_${randomBytes(32).toString('base64url')}`;

/** The same views, in which this developer key is live too. */
export function withKey(reader: ViewReader, key: string): ViewReader {
  const own = developerKeyKey(hash('sha256', key, 'hex'));
  const there = Buffer.from('1');
  return {
    ...reader,
    get: async (keys) => (await reader.get(keys)).map((view, i) => (keys[i] === own ? there : view)),
  };
}
