import type { SchemaTexts } from '../../registry/kept-schemas.ts';
import { readText, redisConnection } from '../redis-connection.ts';
import { redisKeys } from '../redis-keys.ts';
import type { RedisSettings } from '../redis-settings.ts';

/** Schema texts beside the views, in Redis or in a Redis Cluster (docs/rules.md#schema-registry). */
export async function redisSchemaTexts(settings: RedisSettings): Promise<SchemaTexts> {
  const connection = await redisConnection(settings);
  const keys = redisKeys(settings.keyPrefix);
  return {
    find: (name) => readText(connection, keys.schema(name)),
    async keep(name, text) {
      const key = keys.schema(name);
      await connection.command(key, ['SET', key, text]);
    },
    close: () => connection.close(),
  };
}
