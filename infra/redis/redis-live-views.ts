import type { LiveViews } from '../../projector/ports/live-views.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { nullIfOtherType, readText } from './other-type.ts';
import { type RedisSettings, redisConnection } from './redis-connection.ts';
import { redisKeys } from './redis-keys.ts';
import { listStored, readStored } from './redis-stored-views.ts';

const everywhere: ReadonlySet<number> = new Set([-1, ...allTags]);

/** The views of a running service in Redis, or in a Redis Cluster. */
export async function redisLiveViews(settings: RedisSettings): Promise<LiveViews> {
  const connection = await redisConnection(settings);
  const keys = redisKeys(settings.keyPrefix);
  const text = (key: string) => readText(connection, key);
  const saysCompare = async (key: string): Promise<boolean> =>
    (await connection.command(key, ['ZSCORE', key, 'compare']).catch(nullIfOtherType)) !== null;
  return {
    list: () => listStored(connection, keys, { tags: everywhere, whole: true }),
    read: (names) => readStored(connection, keys, names),
    notes: (tags) =>
      Promise.all(
        tags.map(async (tag) => ({
          fence: (await text(keys.fence(tag))) ?? '',
          position: await text(keys.position(tag)),
          compare: await saysCompare(keys.open(tag)),
        })),
      ),
    // As the scripts do (redis-scripts.ts): whoever leads is told by its next batch or beat.
    askCompare: async (tags) => {
      await Promise.all(
        tags.map((tag) => connection.command(keys.open(tag), ['ZADD', keys.open(tag), '+inf', 'compare'])),
      );
    },
    spell: ({ tag, kind, id }) => keys.of(tag, kind, id),
    close: () => connection.close(),
  };
}
