import { readFile } from 'node:fs/promises';
import type { ClientMetadata } from '../../api/oauth/client-policy.ts';
import { parseClients } from '../../api/oauth/clients.ts';

/**
 * The clients of OAUTH_CLIENTS. Empty if it is not set. Throws an error that names the file and every wrong entry in
 * it.
 */
export async function loadOAuthClients(file: string | null): Promise<ClientMetadata[]> {
  if (file === null) return [];
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`Cannot read OAUTH_CLIENTS ${file}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
  return parseClients(text, `OAUTH_CLIENTS ${file}`);
}
