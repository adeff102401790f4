import { withRedis } from '../infra/redis/redis-connection.ts';
import { dropGeneration } from '../infra/redis/redis-generations.ts';
import { viewFormat } from '../schemas/views/view-keys.ts';
import type { Settings } from './settings/settings.ts';
import { type ExitCode, type Io, needRedis, UsageError } from './wiring/command/io.ts';

export interface GenerationsDropOptions {
  format: string;
  json?: boolean;
  force?: boolean;
}

/** Removes the views of a format. Exit code 1 where a projector leads it, or there is none. */
export async function runGenerationsDrop(
  { format: text, json = false, force = false }: GenerationsDropOptions,
  settings: Settings,
  io: Io,
): Promise<ExitCode> {
  const redis = needRedis(settings, 'generations drop');
  const format = Number(text);
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError('Cannot run generations drop: want the number of a format');
  if (format === viewFormat && !force) {
    throw new UsageError(
      `Cannot drop format ${format}: it is the one of this version; to drop it all the same, add --force`,
    );
  }
  const removed = await withRedis(redis, (connection) =>
    dropGeneration(connection, redis.keyPrefix, format, io.signal),
  );
  io.out(json ? JSON.stringify({ format, removed }) : `Dropped format ${format}: ${removed.toLocaleString('en')} keys`);
  return 0;
}
