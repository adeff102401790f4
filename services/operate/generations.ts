import { withRedis } from '../../infra/redis/redis-connection.ts';
import { dropGeneration, type Generation, listGenerations } from '../../infra/redis/views/stored-generations.ts';
import { tagCount, viewFormat } from '../../schemas/views/view-keys.ts';
import { type ExitCode, type Io, needRedis, UsageError } from '../cli/io.ts';
import type { Settings } from '../settings/settings.ts';
import { inParts } from './lag.ts';

/** Says which generations of views the store holds, and who leads each. */
export async function runGenerationsList(
  { json = false }: { json?: boolean },
  settings: Settings,
  io: Io,
): Promise<ExitCode> {
  const redis = needRedis(settings, 'generations list');
  const found = await withRedis(redis, (connection) => listGenerations(connection, redis.keyPrefix, io.signal));
  if (json) io.out(JSON.stringify({ generation: viewFormat, generations: found.map(asJson) }));
  else if (found.length === 0) io.out('The store holds no views');
  else for (const generation of found) io.out(lineOf(generation));
  return 0;
}

const asJson = ({ format, keys, bytes, leaders, tagsUnled, standbys }: Generation) => ({
  generation: format,
  keys,
  bytes,
  leaders: leaders.map(inParts),
  parts_unled: tagsUnled,
  standby: standbys.length > 0,
});

function lineOf({ format, keys, bytes, leaders, tagsUnled, standbys }: Generation): string {
  const own = format === viewFormat ? ' (of this version)' : '';
  const led = leaders.map(
    ({ epoch, tags, alive }) =>
      `${alive ? 'led' : 'was led, and shows no sign of life'}: ${tags} of ${tagCount} parts since ${new Date(epoch).toISOString()}`,
  );
  const unled = tagsUnled > 0 ? [`nobody leads ${tagsUnled} parts`] : [];
  const standing = standbys.length > 0 ? ['a projector stands by'] : [];
  const size = `${keys.toLocaleString('en')} keys, ${(bytes / 1e6).toFixed(1)} MB`;
  return [`Generation ${format}${own}: ${size}`, ...led, ...unled, ...standing].join('; ');
}

interface GenerationsDropOptions {
  generation: string;
  json?: boolean;
}

/** Removes the views of a generation. Exit code 1 if a projector leads it, or if there are no such views. */
export async function runGenerationsDrop(
  { generation: text, json = false }: GenerationsDropOptions,
  settings: Settings,
  io: Io,
): Promise<ExitCode> {
  const redis = needRedis(settings, 'generations drop');
  const format = Number(text);
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError('Cannot run generations drop: want the number of a generation');
  const removed = await withRedis(redis, (connection) =>
    dropGeneration(connection, redis.keyPrefix, format, io.signal),
  );
  io.out(
    json
      ? JSON.stringify({ generation: format, removed })
      : `Dropped generation ${format}: ${removed.toLocaleString('en')} keys`,
  );
  return 0;
}
