import type { RedisConnection } from './redis-connection.ts';

// A key of ours that somebody else wrote with another type stops nothing: it counts as absent, or as to be replaced.

/** Whether a command failed since its key has another type than it wants. */
export const isOtherType = (error: Error): boolean => error.message.startsWith('WRONGTYPE');

/** For `catch`: null where a key has another type. Other errors are thrown on. */
export function nullIfOtherType(error: Error): null {
  if (isOtherType(error)) return null;
  throw error;
}

/** A key's text. Null: it is absent, or of another type. */
export async function readText(connection: RedisConnection, key: string): Promise<string | null> {
  const value = (await connection.command(key, ['GET', key]).catch(nullIfOtherType)) as Buffer | null;
  return value?.toString() ?? null;
}
