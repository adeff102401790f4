import { race, within } from '../../../projector/running/stop.ts';
import type { TextStore } from '../../registry/kept-schemas.ts';
import { type RedisConnection, redisConnection } from '../redis-connection.ts';
import { redisKeys } from '../redis-keys.ts';
import type { RedisSettings } from '../redis-settings.ts';

/** To connect, and to answer. */
const answerMsMax = 8_000;

/** Schema texts beside the views, in Redis or in a Redis Cluster: one hash (docs/rules.md#kept-schemas). It connects when first asked. */
export function redisSchemaTexts(settings: RedisSettings): TextStore {
  let opened: Promise<RedisConnection> | null = null;
  const key = redisKeys(settings.keyPrefix).schemas;
  // A partition of the log waits for the answer. One that never comes must not hold it for ever: after a failure the next
  // attempt has a connection of its own.
  const command = async (name: string, ...args: string[]) => {
    opened ??= redisConnection(settings, { waits: true });
    const connection = opened;
    const asked = async () => (await connection).command(key, [name, key, ...args]);
    try {
      return await within(answerMsMax, (signal) => race(signal, asked()));
    } catch (cause) {
      if (opened === connection) opened = null;
      void connection.then((left) => left.close()).catch(() => undefined);
      throw cause;
    }
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
