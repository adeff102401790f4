import { withRedis } from '../../infra/redis/redis-connection.ts';
import { dropGeneration, type Generation, listGenerations } from '../../infra/redis/views/stored-generations.ts';
import { tagCount, viewFormat } from '../../schemas/views/view-keys.ts';
import type { Run } from '../cli/commands.ts';
import { needRedis, tell, UsageError } from '../cli/io.ts';
import { inParts } from './lag.ts';

/** Says which generations of views the store holds, and who leads each. */
export const runGenerationsList: Run = async ({ json }, settings, io) => {
  const redis = needRedis(settings, 'generations list');
  const found = await withRedis(redis, (connection) => listGenerations(connection, redis.keyPrefix, io.signal));
  const lines = found.length === 0 ? ['The store holds no views'] : found.map(lineOf);
  tell(io, json, { generation: viewFormat, generations: found.map(asJson) }, lines);
  return 0;
};

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

/** Removes the views of a generation. Exit code 1 if a projector leads it, or if there are no such views. */
export const runGenerationsDrop: Run<{ generation: string }> = async ({ generation: text, json }, settings, io) => {
  const redis = needRedis(settings, 'generations drop');
  const format = Number(text);
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError('Cannot run generations drop: want the number of a generation');
  const removed = await withRedis(redis, (connection) =>
    dropGeneration(connection, redis.keyPrefix, format, io.signal),
  );
  tell(io, json, { generation: format, removed }, [
    `Dropped generation ${format}: ${removed.toLocaleString('en')} keys`,
  ]);
  return 0;
};
