import { withRedis } from '../infra/redis/redis-connection.ts';
import { type Generation, listGenerations } from '../infra/redis/redis-generations.ts';
import { tagCount, viewFormat } from '../schemas/views/view-keys.ts';
import type { Settings } from './settings/settings.ts';
import { type ExitCode, type Io, needRedis } from './wiring/command/io.ts';

/** Says which view formats the store holds, and who leads each. */
export async function runGenerationsList(
  { json = false }: { json?: boolean },
  settings: Settings,
  io: Io,
): Promise<ExitCode> {
  const redis = needRedis(settings, 'generations list');
  const found = await withRedis(redis, (connection) => listGenerations(connection, redis.keyPrefix, io.signal));
  if (json) io.out(JSON.stringify({ format: viewFormat, generations: found.map(asJson) }));
  else if (found.length === 0) io.out('The store holds no views');
  else for (const generation of found) io.out(lineOf(generation));
  return 0;
}

const asJson = ({ format, keys, bytes, leaders, tagsUnled, standby }: Generation) => ({
  format,
  keys,
  bytes,
  leaders,
  tags_unled: tagsUnled,
  standby,
});

function lineOf({ format, keys, bytes, leaders, tagsUnled, standby }: Generation): string {
  const own = format === viewFormat ? ' (of this version)' : '';
  const led = leaders.map(
    ({ epoch, tags, alive }) =>
      `${alive ? 'led' : 'was led, and shows no sign of life'}: ${tags} of ${tagCount} tags since ${new Date(epoch).toISOString()}`,
  );
  const unled = tagsUnled > 0 ? [`nobody leads ${tagsUnled} tags`] : [];
  const standing = standby ? ['a projector stands by'] : [];
  const size = `${keys.toLocaleString('en')} keys, ${(bytes / 1e6).toFixed(1)} MB`;
  return [`Format ${format}${own}: ${size}`, ...led, ...unled, ...standing].join('; ');
}
