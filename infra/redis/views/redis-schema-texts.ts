import type { TextStore } from '../../registry/kept-schemas.ts';
import { type RedisConnection, redisConnection } from '../redis-connection.ts';
import { redisKeys } from '../redis-keys.ts';
import type { RedisSettings } from '../redis-settings.ts';

/** Schema texts beside the views, in Redis or in a Redis Cluster: one hash (docs/rules.md#kept-schemas). It connects when first asked. */
export function redisSchemaTexts(settings: RedisSettings): TextStore {
  let opened: Promise<RedisConnection> | null = null;
  const key = redisKeys(settings.keyPrefix).schemas;
  const command = async (name: string, ...args: string[]) => {
    opened ??= redisConnection(settings, { waits: true });
    return (await opened).command(key, [name, key, ...args]);
  };
  return {
    names: async () => ((await command('HKEYS')) as Buffer[]).map(String),
    find: async (name) => ((await command('HGET', name)) as Buffer | null)?.toString() ?? null,
    async keep(texts) {
      await command('HSET', ...[...texts].flat());
    },
    async close() {
      await (await opened)?.close();
    },
  };
}
