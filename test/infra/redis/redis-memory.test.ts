import { expect, it } from 'vitest';
import { memoryIn } from '../../../infra/redis/redis-memory.ts';

it('a Redis has the memory of its setting, else of its machine, else no limit that is known', () => {
  const used = '# Memory\r\nused_memory:1024\r\nused_memory_rss:9\r\n';
  const machine = 'total_system_memory:8192\r\n';
  expect(memoryIn(`${used}${machine}maxmemory:4096\r\n`)).toEqual({ usedBytes: 1024, limitBytes: 4096 });
  expect(memoryIn(`${used}${machine}maxmemory:0\r\n`)).toEqual({ usedBytes: 1024, limitBytes: 8192 });
  expect(memoryIn(`${used}maxmemory:0\r\n`)).toEqual({ usedBytes: 1024, limitBytes: Number.POSITIVE_INFINITY });
  expect(memoryIn('')).toEqual({ usedBytes: 0, limitBytes: Number.POSITIVE_INFINITY });
});
