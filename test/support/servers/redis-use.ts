import type { Redis } from 'ioredis';

/** What a Redis has done since it started: commands, those inside scripts too, and bytes both ways. */
export interface RedisUse {
  commands: number;
  bytes: number;
}

export async function redisUse(client: Redis): Promise<RedisUse> {
  const info = await client.info('stats');
  const count = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)![1]);
  return {
    commands: count('total_commands_processed'),
    bytes: count('total_net_input_bytes') + count('total_net_output_bytes'),
  };
}

export const less = (now: RedisUse, before: RedisUse): RedisUse => ({
  commands: now.commands - before.commands,
  bytes: now.bytes - before.bytes,
});
